import { isObservable, lastValueFrom } from 'rxjs';

/** Resolves once the handlers of an event have done their work; rejects if one of them failed. */
export async function runHandler(
  handler: (data: unknown, context: unknown) => Promise<unknown>,
  data: unknown,
  context: unknown,
): Promise<void> {
  const result = await handler(data, context);
  if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
}
