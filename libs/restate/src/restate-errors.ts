import { HttpCallError } from '@restatedev/restate-sdk-clients';
import {
  databaseRefuses,
  isDatabaseOutage,
  isDatabaseTransient,
  UnstorableError,
} from 'nestjs-durable-saga/internal/backend';

/** The admin API refused a request. */
export class AdminError extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(`The admin API of Restate answered ${status}: ${text}`);
  }
}

/** Does what `fetch` does, whose error says only that it has failed, and gives that the message of its reason. */
export async function request(...call: Parameters<typeof fetch>): Promise<Response> {
  try {
    return await fetch(...call);
  } catch (error) {
    const { cause } = error as { readonly cause?: Partial<Record<'message' | 'code', string>> };
    // What all addresses of a name have refused has no message.
    if (cause) (error as Error).message = cause.message || cause.code!;
    throw error;
  }
}

/** Answers to what a call has given: bad request, payload too large, unprocessable. */
const REFUSALS: readonly number[] = [400, 413, 422];
/** Answers of a server that starts, restarts or is busy: not found, timeout, too many requests. */
const FOR_NOW: readonly number[] = [404, 408, 429];

/** Returns whether a call failed because of what it was given, so that it fails each time. */
export function refusesData(error: unknown): boolean {
  if (error instanceof UnstorableError || databaseRefuses(error)) return true;
  return REFUSALS.includes(statusOf(error) ?? 0);
}

/** Returns whether Restate, or the application's database, could not do its work: any answer that is no refusal, or none. */
export function isOutage(error: unknown): boolean {
  return isUnanswered(error) || isDatabaseOutage(error);
}

/** Returns whether Restate could not do its work. */
export function isUnanswered(error: unknown): boolean {
  return statusOf(error) === undefined ? isOfNetwork(error) : !refusesData(error);
}

/** Returns whether a call is likely to succeed soon. */
export function isTransient(error: unknown): boolean {
  const status = statusOf(error);
  if (status === undefined) return isOfNetwork(error) || isDatabaseTransient(error);
  return status >= 500 || FOR_NOW.includes(status);
}

function statusOf(error: unknown): number | undefined {
  return error instanceof HttpCallError || error instanceof AdminError ? error.status : undefined;
}

/** By name, since they may come from another realm. Errors of `fetch` have a cause; those of a program have none. */
function isOfNetwork(error: unknown): boolean {
  const { name, cause } = (error ?? {}) as { readonly name?: unknown; readonly cause?: unknown };
  return name === 'TimeoutError' || (name === 'TypeError' && cause !== undefined);
}
