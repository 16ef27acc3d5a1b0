import { SagaError, SagaTransactionError } from '../../../errors.js';

/**
 * Conditions that go away by themselves (PostgreSQL's appendix A, and Node's for the socket), of any statement. A
 * statement of the application, or of an application's start, is sent again for no other reason.
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

/**
 * The only answers that refuse what a statement was given: class 22 (data exceptions), class 23 (constraints), and 54000,
 * which is what a text is answered with that is too large for an index. No function of the schema raises an error about data.
 */
const REFUSALS = /^(?:22\w{3}|23\w{3}|54000)$/;

/**
 * The answers that say that the server, or what is in front of it, does not work: nothing that a statement of the application
 * does is answered with them. Class XX is an internal error, which poolers answer with as well.
 */
const SERVER_TROUBLE = /^(?:08|28|40|53|57|58|XX)\w{3}$|^25(?!P02)\w{3}$/;

/** After an error of these severities the server closes the connection. */
const ENDS_CONNECTION = new Set(['FATAL', 'PANIC']);

/** The errors with which the engine's own statements, and its attempts to connect, have failed. */
const engineFailures = new WeakSet<object>();

/** As far as an error matters here; not by class, since it may come from another realm (vm, jest). */
interface ErrorLike {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly severity?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  /** TypeORM wraps what the driver throws. */
  readonly driverError?: unknown;
  /** Node tries several addresses, and says so in an AggregateError. */
  readonly errors?: unknown;
}

/** Returns whether an error goes away by itself, so that it helps to send the same again a little later. */
export function isTransientError(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 4) return false;
  const { code, message, cause, driverError, errors } = error as ErrorLike;
  if (typeof code === 'string' && (TRANSIENT_CODES.has(code) || /^08\w{3}$/.test(code))) return true;
  if (typeof message === 'string' && TRANSIENT_MESSAGES.test(message)) return true;
  return [driverError, cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])].some((inner) =>
    isTransientError(inner, depth + 1),
  );
}

/**
 * Returns the error of a statement of the engine, after it was noted that it is one: what the engine itself sends is never
 * wrong because of a SQLSTATE that is not listed. Errors of the program (a TypeError) are not noted.
 */
export function asEngineFailure<E>(error: E): E {
  return isOfProgram(error) ? error : asUnreached(error);
}

/** Returns the error of connecting for a statement of the engine, after it was noted that it is one, whatever error it is. */
export function asUnreached<E>(error: E): E {
  if (typeof error === 'object' && error !== null && !(error instanceof SagaError)) engineFailures.add(error);
  return error;
}

/**
 * Returns whether a call of the store may be repeated after this error: it goes away by itself, or it is any answer to a
 * statement of the engine but one that refuses data. Missing privileges, a missing function, a wrong password or an error
 * without a SQLSTATE say nothing about the sagas. They wait until the database does its work again.
 */
export function isOutage(error: unknown): boolean {
  if (isTransientError(error)) return true;
  if (error instanceof SagaTransactionError) return isOutage(error.cause);
  return typeof error === 'object' && error !== null && engineFailures.has(error) && !refusesData(error);
}

/** Returns whether a statement failed because of what it was given, so that it fails each time. */
export function refusesData(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 4) return false;
  const { code, severity, driverError } = error as ErrorLike;
  if (typeof code === 'string' && REFUSALS.test(code)) return !ENDS_CONNECTION.has(String(severity));
  return refusesData(driverError, depth + 1);
}

/** Answers to what statements do to each other, after which a connection is as good as before. */
const OF_OTHERS = new Set(['40001', '40P01', '55P03', '57014']);

/**
 * Returns whether a connection is not to be used again after this error of the engine: it may lead to a server that became a
 * reader (25006), to a session of a pooler that is broken, or to nowhere. The next connection may lead to another one.
 */
export function spoilsConnection(error: unknown): boolean {
  if (!isOutage(error)) return false;
  const { code, driverError } = error as ErrorLike;
  return !OF_OTHERS.has(String(code ?? (driverError as ErrorLike | undefined)?.code));
}

/**
 * Returns whether an answer depends on the statement (a missing function or privilege, for example), so that another
 * statement may be answered as it should: it has a SQLSTATE, and none of the server's troubles.
 */
export function concernsStatement(error: unknown): boolean {
  const { code, severity, driverError } = (error ?? {}) as ErrorLike;
  if (typeof code !== 'string') return driverError !== undefined && concernsStatement(driverError);
  return /^\w{5}$/.test(code) && !SERVER_TROUBLE.test(code) && !ENDS_CONNECTION.has(String(severity));
}

/** By name, since they may come from another realm. Node gives those of its own modules a code. */
function isOfProgram(error: unknown): boolean {
  const { name, code } = (error ?? {}) as ErrorLike;
  return code === undefined && /^(?:Type|Range|Syntax|Reference)Error$/.test(String(name));
}

/** Prepared statements are kept by the connection that a transaction-mode pooler gave to someone else since. */
export function isUnprepared(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '26000' || code === '42P05';
}
