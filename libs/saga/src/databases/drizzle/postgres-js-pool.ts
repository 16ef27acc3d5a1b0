import pg from 'pg';
import { SagaConfigurationError } from '../../errors.js';
import type { PostgresJsClient, PostgresJsOptions } from './postgres-js-client.js';

/**
 * Returns a pool of pg beside a client of postgres.js, whose own connections show neither their protocol nor their loss. It has
 * the settings of the client, and is ended with it.
 * @throws SagaConfigurationError if pg has no such setting
 */
export function poolBeside(client: PostgresJsClient): pg.Pool {
  const pool = new pg.Pool(settingsOf(client.options));
  const end = client.end.bind(client);
  client.end = async (options) => {
    await Promise.all([end(options), pool.ended ? undefined : pool.end()]);
  };
  return pool;
}

function settingsOf(options: PostgresJsOptions): pg.PoolConfig {
  const { host, port, path, database, user, pass, max, connect_timeout: timeout, connection } = options;
  const unknown = [
    ...(options.socket ? ['socket'] : []),
    ...(host.length > 1 ? ['several hosts'] : []),
    ...(options.ssl === 'prefer' || options.ssl === 'allow' ? [`ssl: '${options.ssl}'`] : []),
  ];
  if (unknown.length > 0)
    throw new SagaConfigurationError(
      `drizzleDatabase(): pg does not have what postgres.js is set to: ${unknown.join(', ')}. ` +
        `Give the Pool of pg that sagas are to use: drizzleDatabase(db, new Pool({ … })).`,
    );
  const { application_name: applicationName, ...session } = connection;
  return {
    ...(path ? { host: path.replace(/\/\.s\.PGSQL\.\d+$/, '') } : { host: host[0] }),
    ...{ port: port[0], database, user, max, allowExitOnIdle: true, ssl: sslOf(options.ssl) },
    ...{ application_name: String(applicationName), options: optionsOf(session) },
    password: typeof pass === 'function' ? pass : (pass ?? undefined),
    connectionTimeoutMillis: (timeout ?? 0) * 1_000,
  };
}

/** As postgres.js does: `require` verifies no certificate. */
function sslOf(ssl: unknown): pg.PoolConfig['ssl'] {
  if (ssl === 'require') return { rejectUnauthorized: false };
  if (typeof ssl === 'object' && ssl !== null) return ssl;
  return Boolean(ssl);
}

/** Settings of the session, as the server takes them when it is connected to. */
function optionsOf(session: Readonly<Record<string, unknown>>): string | undefined {
  const given = Object.entries(session).filter(([, value]) => value != null);
  if (given.length === 0) return undefined;
  return given.map(([name, value]) => `-c ${name}=${String(value).replace(/[\\ ]/g, '\\$&')}`).join(' ');
}
