/**
 * A call is repeated for as long as no process answers: calls of the same object wait for it. By default Restate waits up to a minute
 * between two attempts, and pauses a call after 70. What a call did is stored in the object: its journal is not kept, and its answer for as
 * long as the client may repeat the request, and not for a day.
 */
export const OPTIONS = {
  retryPolicy: {
    ...{ initialInterval: 50, exponentiationFactor: 2, maxInterval: 1_000 },
    maxAttempts: Number.MAX_SAFE_INTEGER,
  },
  journalRetention: 0,
  idempotencyRetention: 60_000,
};
