import { OWN_TYPES } from './own-types.js';
import { isTransientError } from './transient-errors.js';
import type { PgClient } from './pg-types.js';

/**
 * The database cluster of a server, and its timeline: PostgreSQL's number of a history, which each promotion raises. Null: a
 * standby, whose timeline is not its own. The functions are open to every role.
 */
const ASK = `
  SELECT (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
    CASE WHEN pg_is_in_recovery() THEN NULL
      ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`;

interface TimelineRow {
  readonly cluster: string;
  readonly timeline: number | null;
}

/**
 * Notices that a standby was promoted, and refuses the server that was the primary before: what is committed there is not in
 * the new history. Each connection is asked once, when the engine uses it first. Servers that cannot answer (compatible
 * databases without these functions) are not guarded.
 */
export class TimelineGuard {
  private cluster: string | undefined;
  private timeline = 0;
  private isOff = false;
  private promotions = 0;
  /** When a promotion was last noticed, in monotonic ms. */
  lastPromotionAt = -Infinity;
  private readonly admitted = new WeakMap<PgClient, number>();

  /** How many promotions were noticed. With each, commits may be gone that the server before had acknowledged. */
  get era(): number {
    return this.promotions;
  }

  /** True: the connection may be used without a question. */
  knows(client: PgClient): boolean {
    return this.isOff || this.admitted.get(client) === this.promotions;
  }

  /**
   * Resolves if the connection may be used.
   * @throws a transient error if its server was the primary before
   */
  async admit(client: PgClient): Promise<void> {
    let row: TimelineRow | undefined;
    try {
      const { rows } = await client.query<TimelineRow>({ text: ASK, types: OWN_TYPES });
      row = rows[0];
    } catch (error) {
      if (isTransientError(error)) throw error;
      this.isOff = true;
      return;
    }
    if (!row) return;
    if (row.timeline === null) {
      // It may be promoted before the statement arrives, which would then be executed without the failover being noticed.
      if (this.cluster !== undefined) throw standby();
      return;
    }
    this.see(row.cluster, row.timeline);
    this.admitted.set(client, this.promotions);
  }

  private see(cluster: string, timeline: number): void {
    if (cluster === this.cluster && timeline < this.timeline) throw outlived(timeline, this.timeline);
    const isFirst = this.cluster === undefined;
    if (cluster === this.cluster && timeline === this.timeline) return;
    [this.cluster, this.timeline] = [cluster, timeline];
    if (isFirst) return;
    this.promotions += 1;
    this.lastPromotionAt = performance.now();
  }
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
