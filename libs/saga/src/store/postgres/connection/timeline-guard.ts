import { OWN_TYPES } from './own-types.js';
import { concernsStatement } from './transient-errors.js';
import type { PgClient } from './pg-types.js';

/** Whether a server cannot be written to. Databases that are compatible with PostgreSQL have this function. */
const ROLE = 'SELECT pg_is_in_recovery() AS standby';

/**
 * The database cluster of a primary, and its timeline: PostgreSQL's number of a history, which each promotion raises. The
 * functions are open to every role. Compatible databases may not have them (Amazon Aurora without logical replication).
 */
const TIMELINE = `
  SELECT (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS timeline`;

interface TimelineRow {
  readonly cluster: string;
  readonly timeline: number;
}

/**
 * Notices that a standby was promoted, and refuses the server that was the primary before: what is committed there is not in
 * the new history. Each connection is asked once, when the engine uses it first. A standby is refused on every server. Where
 * the server cannot tell its timeline, the rest of the guard is off.
 */
export class TimelineGuard {
  private cluster: string | undefined;
  private timeline = 0;
  /** A server of these connections was a primary. */
  private hasPrimary = false;
  private off: Error | undefined;
  /** How many promotions were noticed. With each, commits may be gone that the server before had acknowledged. */
  era = 0;
  /** When a promotion was last noticed, in monotonic ms. */
  lastPromotionAt = -Infinity;
  private readonly admitted = new WeakMap<PgClient, number>();
  private readonly reporters: ((cause: Error) => void)[] = [];

  /** Off: the server cannot tell its timeline, so that a promotion is not noticed, and nothing is put back after it. */
  get state(): 'on' | 'off' {
    return this.off ? 'off' : 'on';
  }

  /** Calls a function once, when the guard is off, with the server's reason. */
  whenOff(report: (cause: Error) => void): void {
    if (this.off) report(this.off);
    else this.reporters.push(report);
  }

  /** True: the connection may be used without a question. */
  knows(client: PgClient): boolean {
    return this.admitted.get(client) === this.era;
  }

  /**
   * Resolves if the connection may be used.
   * @throws a transient error if its server is a standby, or was the primary before
   */
  async admit(client: PgClient): Promise<void> {
    if (await isStandby(client)) {
      // It may be promoted before the statement arrives, which would then be executed without the failover being noticed.
      if (this.hasPrimary) throw standby();
      return;
    }
    this.hasPrimary = true;
    if (!this.off) await this.compare(client);
    this.admitted.set(client, this.era);
  }

  private async compare(client: PgClient): Promise<void> {
    try {
      const { rows } = await client.query<TimelineRow>({ text: TIMELINE, types: OWN_TYPES });
      this.see(rows[0]!.cluster, rows[0]!.timeline);
    } catch (error) {
      if (!concernsStatement(error)) throw error;
      this.off = error as Error;
      for (const report of this.reporters.splice(0)) report(this.off);
    }
  }

  private see(cluster: string, timeline: number): void {
    if (cluster === this.cluster && timeline < this.timeline) throw outlived(timeline, this.timeline);
    const isFirst = this.cluster === undefined;
    if (cluster === this.cluster && timeline === this.timeline) return;
    [this.cluster, this.timeline] = [cluster, timeline];
    if (isFirst) return;
    this.era += 1;
    this.lastPromotionAt = performance.now();
  }
}

async function isStandby(client: PgClient): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean }>({ text: ROLE, types: OWN_TYPES });
  return rows[0]!.standby;
}

/** Transient: the address leads to the new primary once the failover is over. */
function outlived(timeline: number, latest: number): Error {
  return new Error(
    `Connection terminated: the server is on timeline ${timeline}, but a failover to timeline ${latest} was seen. ` +
      'It is no longer the primary.',
  );
}

/** Transient: a failover is in progress. */
function standby(): Error {
  return new Error('Connection terminated: the server is a standby, which may be promoted at any moment.');
}
