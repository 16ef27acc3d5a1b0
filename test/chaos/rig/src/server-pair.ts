import pg from 'pg';
import { type EmbeddedServer, startEmbeddedPostgres } from '../../../support/embedded-postgres.mjs';
import { eventually } from './eventually.js';
import { TcpProxy } from './tcp-proxy.js';

/** `sync`: a commit is acknowledged once both servers have it. `async`: once the primary has it. */
export type Replication = 'sync' | 'async';

/** A primary and a standby that streams from it. */
export class ServerPair {
  private constructor(
    /** It can be written to. */
    public primary: EmbeddedServer,
    public standby: EmbeddedServer,
    private readonly replication: Replication,
    /** From the primary to the standby. */
    private readonly stream: TcpProxy,
  ) {}

  static async start(
    replication: Replication,
    settings: Record<string, string | number> = {},
  ): Promise<ServerPair> {
    const primary = await startEmbeddedPostgres({ settings });
    const stream = await TcpProxy.before({ host: '127.0.0.1', port: primary.port });
    try {
      const standby = await primary.startStandby(stream.port);
      const pair = new ServerPair(primary, standby, replication, stream);
      await pair.waitForBoth();
      return pair;
    } catch (error) {
      await stream.close();
      await primary.stop();
      throw error;
    }
  }

  /** The standby becomes the primary, on a timeline of its own. The other server stays as it is. */
  async promote(): Promise<void> {
    await this.standby.promote();
    [this.primary, this.standby] = [this.standby, this.primary];
  }

  /** The server that was the primary becomes the standby. */
  async restore(): Promise<void> {
    this.stream.pointTo(this.primary.port);
    this.stream.heal();
    await this.standby.rejoin(this.primary, this.stream.port);
    await this.waitForBoth();
  }

  /** From now on, the standby receives nothing. */
  fallBehind(): void {
    this.stream.treat({ kind: 'drop' });
  }

  async stop(): Promise<void> {
    // The standby first: a primary that shuts down waits for it.
    await this.standby.stop();
    await this.primary.stop();
    await this.stream.close();
  }

  /** With synchronous replication: from now on, the primary acknowledges no commit that the standby does not have. */
  private async waitForBoth(): Promise<void> {
    if (this.replication === 'async') return;
    const client = new pg.Client({ connectionString: this.primary.url });
    await client.connect();
    try {
      await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
      await client.query('SELECT pg_reload_conf()');
      await eventually(async () => {
        const { rowCount } = await client.query(`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`);
        return rowCount === 1;
      });
    } finally {
      await client.end();
    }
  }
}
