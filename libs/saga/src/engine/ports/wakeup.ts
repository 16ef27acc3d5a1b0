/**
 * A hint. `due`: a saga may be due. `look`: a saga that a worker holds has received a request. `settled`: a saga that a
 * process waits for is settled. `published`: a message is in the outbox. `pauses`: other steps are paused than before. `missed`: hints may have been lost until now.
 */
export type WakeupMessage =
  | { readonly type: 'due' }
  | { readonly type: 'published' }
  | { readonly type: 'pauses' }
  | { readonly type: 'missed' }
  | { readonly type: 'look'; readonly id: string }
  | { readonly type: 'settled'; readonly id: string };

/** Hints between processes. Any of them may be lost: polling is the guarantee. */
export interface Wakeup {
  /** True while hints can be expected to arrive. */
  readonly listening: boolean;
  start(onMessage: (message: WakeupMessage) => void): Promise<void>;
  /** Tells every process that a saga may be due. */
  announceDue(): void;
  stop(): Promise<void>;
}
