import type { OutboxMessage, ProgressReport } from '../../libs/saga/src/index.js';

/** What methods are given, as far as participants care. */
export interface CallContext {
  readonly sagaId: string;
  readonly idempotencyKey: string;
  readonly round: number;
  readonly attempt: number;
  readonly index?: number;
  readonly result?: unknown;
  readonly input?: unknown;
  readonly signal: AbortSignal;
  readonly manager?: unknown;
  publish(message: OutboxMessage): void;
  setTags(tags: Record<string, string>): void;
  readonly fencingToken: bigint;
  readonly lastHeartbeat?: unknown;
  progress(report: ProgressReport): void;
  heartbeat(details?: unknown): Promise<void>;
}

/** What the other services have under one idempotency key. */
export interface Effect {
  readonly key: string;
  /** The first call's answer, which later ones with the same key are given as well. */
  value?: string;
  isUndone: boolean;
  /** Calls made, and those that are still on their way. */
  calls: number;
  underWay: number;
}

/** In what the database refuses to store. */
export const UNSTORABLE = ' (unstorable)';
