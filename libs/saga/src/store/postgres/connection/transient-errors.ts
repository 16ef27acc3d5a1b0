/**
 * Conditions that go away by themselves (PostgreSQL's appendix A, and Node's for the socket): a statement that
 * failed with one of them is sent again.
 */
const TRANSIENT_CODES = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available: lock_timeout
  '57014', // query_canceled: statement_timeout
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '25006', // read_only_sql_transaction: a standby, until the failover is over
  '25P03', // idle_in_transaction_session_timeout
  '53300', // too_many_connections
  '53100', // disk_full
  '53200', // out_of_memory
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** The driver reports these without a code; the last one is TypeORM's, for a connection that was lost between two statements. */
const TRANSIENT_MESSAGES =
  /connection terminated|timeout acquiring a connection|connection ended|timeout exceeded when trying to connect|timeout expired|client has encountered a connection error|query read timeout|client was closed|query runner (was )?already released/i;

/** As far as an error matters here; not by class, since it may come from another realm (vm, jest). */
interface ErrorLike {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  /** TypeORM wraps what the driver throws. */
  readonly driverError?: unknown;
  /** Node tries several addresses, and says so in an AggregateError. */
  readonly errors?: unknown;
}

/** Does it help to send the same again, a little later? */
export function isTransientError(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 4) return false;
  const { code, message, cause, driverError, errors } = error as ErrorLike;
  if (typeof code === 'string' && (TRANSIENT_CODES.has(code) || /^08\w{3}$/.test(code))) return true;
  if (typeof message === 'string' && TRANSIENT_MESSAGES.test(message)) return true;
  return [driverError, cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])].some((inner) =>
    isTransientError(inner, depth + 1),
  );
}

/** Prepared statements are kept by the connection that a transaction-mode pooler gave to someone else since. */
export function isUnprepared(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '26000' || code === '42P05';
}
