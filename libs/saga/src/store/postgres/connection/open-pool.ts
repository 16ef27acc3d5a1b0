import pg from 'pg';
import { type SessionAttributes, severalHosts, type SeveralHosts } from './several-hosts.js';

/** How long (ms) a server may take to say what it is, unless the pool has `connectionTimeoutMillis`. */
const PATIENCE = 5_000;

/** What a server says of itself. */
interface ServerRole {
  readonly standby: boolean;
  readonly readonly: boolean;
}

const ROLE = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS readonly`;

const IS_WANTED: Record<SessionAttributes, (role: ServerRole) => boolean> = {
  any: () => true,
  'read-write': (role) => !role.readonly,
  'read-only': (role) => role.readonly,
  primary: (role) => !role.standby,
  standby: (role) => role.standby,
};

/**
 * Opens a pool on a connection string, which may have several hosts and `target_session_attrs`: pg itself takes neither.
 * Each new connection goes to the first host that can be reached and that has these attributes.
 * @throws SagaConfigurationError if the hosts or the attributes are invalid
 */
export function openPool(config: pg.PoolConfig & { readonly connectionString: string }): pg.Pool {
  const hosts = severalHosts(config.connectionString);
  if (!hosts) return new pg.Pool(config);
  return new pg.Pool({ ...config, connectionString: hosts.urls[0], Client: clientOver(hosts, config) });
}

/** A client that chooses its server when it connects. */
function clientOver(hosts: SeveralHosts, { connectionTimeoutMillis = PATIENCE }: pg.PoolConfig) {
  return class SeveralHostsClient extends pg.Client {
    override connect(): Promise<this>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<this> | void {
      const chosen = chooseHost(hosts, connectionTimeoutMillis).then((at) => Object.assign(this, at));
      if (!callback) return chosen.then(async () => super.connect() as unknown as Promise<this>);
      chosen.then(() => super.connect(callback), callback);
    }
  };
}

/**
 * Returns the first host with the attributes.
 * @throws the error of the last host, or one with the SQLSTATE 25006 if all can be reached
 */
async function chooseHost(
  { urls, attributes }: SeveralHosts,
  connectionTimeoutMillis: number,
): Promise<{ readonly host: string; readonly port: number }> {
  let failure: unknown;
  for (const connectionString of urls) {
    const probe = new pg.Client({ connectionString, connectionTimeoutMillis, query_timeout: PATIENCE });
    // It may be lost after its answer.
    probe.on('error', () => undefined);
    try {
      await probe.connect();
      const { rows } = await probe.query<ServerRole>(ROLE);
      const { host, port } = probe;
      if (IS_WANTED[attributes](rows[0]!)) return { host, port };
    } catch (error) {
      failure = error;
    } finally {
      void probe.end().catch(() => undefined);
    }
  }
  throw (failure as Error | undefined) ?? noneIsWanted(attributes);
}

/** Transient: after a failover, one of them is. */
function noneIsWanted(attributes: SessionAttributes): Error {
  const message = `No host of the connection string is ${attributes} (target_session_attrs). Wait for the failover, or add the host that is.`;
  return Object.assign(new Error(message), { code: '25006' });
}
