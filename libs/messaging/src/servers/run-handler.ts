import { isObservable, lastValueFrom } from 'rxjs';

/** What an application has hung around the handling of a message, to begin and to end a span. Early versions of Nest 11 have neither. */
interface ProcessingHooks {
  readonly onProcessingStartHook?: (
    transportId: unknown,
    context: unknown,
    work: () => Promise<void>,
  ) => unknown;
  readonly onProcessingEndHook?: (transportId: unknown, context: unknown) => void;
}

/**
 * Resolves once the handlers of an event have done their work; rejects if one of them failed. Does not go by what the
 * hooks return, which are the application's.
 */
export function runHandler(
  handler: (data: unknown, context: unknown) => Promise<unknown>,
  data: unknown,
  context: unknown,
  server: { readonly transportId?: unknown },
): Promise<void> {
  // Protected in Server, which has a call around both of them only since Nest 12.1.
  const hooks = server as unknown as ProcessingHooks;
  const { transportId } = server;
  return new Promise((resolve, reject) => {
    const work = async (): Promise<void> => {
      try {
        const result = await handler(data, context);
        if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
        resolve();
      } catch (error) {
        reject(asError(error));
      } finally {
        hooks.onProcessingEndHook?.(transportId, context);
      }
    };
    const begin = async () =>
      hooks.onProcessingStartHook ? hooks.onProcessingStartHook(transportId, context, work) : work();
    begin().catch(reject);
  });
}

/** Nest's filters throw plain objects. */
function asError(error: unknown): Error {
  if (error instanceof Error) return error;
  const { message } = (error ?? {}) as { message?: unknown };
  return new Error(typeof message === 'string' ? message : String(error), { cause: error });
}
