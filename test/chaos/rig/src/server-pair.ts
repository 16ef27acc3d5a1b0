import pg from 'pg';
import { type EmbeddedServer, startEmbeddedPostgres } from '../../../support/embedded-postgres.mjs';
import { eventually } from './eventually.js';

/** A primary and a standby that streams from it synchronously: a commit is acknowledged once both have it. */
export class ServerPair {
  private constructor(
    /** It can be written to. */
    public primary: EmbeddedServer,
    public standby: EmbeddedServer,
  ) {}

  static async start(settings: Record<string, string | number> = {}): Promise<ServerPair> {
    const primary = await startEmbeddedPostgres({ settings });
    try {
      const pair = new ServerPair(primary, await primary.startStandby());
      await pair.waitForBoth();
      return pair;
    } catch (error) {
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
    await this.standby.rejoin(this.primary);
    await this.waitForBoth();
  }

  async stop(): Promise<void> {
    // The standby first: a primary that shuts down waits for it.
    await this.standby.stop();
    await this.primary.stop();
  }

  /** From now on, the primary acknowledges no commit that the standby does not have. */
  private async waitForBoth(): Promise<void> {
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
