import { shown } from '../definition/shown-value.js';
import { SagaValidationError } from '../errors/saga-errors.js';

/**
 * What an action was told: a JSON object with these fields at most. What each of them may be, the call that is given it
 * says.
 * @throws SagaValidationError
 */
export function readBody<const Name extends string>(
  body: unknown,
  names: readonly Name[],
): Partial<Record<Name, unknown>> {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body))
    throw new SagaValidationError(`The body is ${shown(body)}; send a JSON object.`);
  const known: readonly string[] = names;
  const unknown = Object.keys(body).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new SagaValidationError(
      `The body has ${unknown.map((name) => shown(name)).join(', ')}; it may have: ${names.join(', ')}.`,
    );
  return body;
}
