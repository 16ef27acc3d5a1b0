import { isObservable, lastValueFrom } from 'rxjs';

/** What Server.runWithProcessingHooks does with this work: begins and ends a span around it. */
type Hooks = (work: (ended: () => void) => Promise<void>) => unknown;

/**
 * Resolves once the handlers of an event have done their work; rejects if one of them failed. Does not go by what the
 * hooks return, which are the application's.
 */
export function runHandler(
  handler: (data: unknown, context: unknown) => Promise<unknown>,
  data: unknown,
  context: unknown,
  hooks: Hooks,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const work = async (ended: () => void): Promise<void> => {
      try {
        const result = await handler(data, context);
        if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
        resolve();
      } catch (error) {
        reject(asError(error));
      } finally {
        ended();
      }
    };
    new Promise((began) => began(hooks(work))).catch(reject);
  });
}

/** Nest's filters throw plain objects. */
function asError(error: unknown): Error {
  if (error instanceof Error) return error;
  const { message } = (error ?? {}) as { message?: unknown };
  return new Error(typeof message === 'string' ? message : String(error), { cause: error });
}
