/** In which an error of PostgreSQL may carry what was to be stored: whole rows, or the beginning of a payload. */
const TELLING = ['parameters', 'detail', 'where'] as const;

/**
 * Returns the error of an engine statement without the values that the statement was given. A saga's input and results
 * may be secret (`@Saga({ redact })`), and errors end in logs.
 */
export function withoutParameters<E>(error: E): E {
  if (typeof error !== 'object' || error === null) return error;
  const failure = error as Record<(typeof TELLING)[number] | 'driverError', unknown>;
  for (const name of TELLING) if (failure[name] !== undefined) failure[name] = undefined;
  if (failure.driverError !== undefined && failure.driverError !== error)
    withoutParameters(failure.driverError);
  return error;
}
