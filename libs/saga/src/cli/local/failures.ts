import type { Type } from '@nestjs/common';
import { methodsOf } from '../../definition/decorators/saga-methods.js';
import { SagaMetadata } from '../../definition/decorators/saga-metadata.js';
import type { Invoker } from '../../engine/ports/invoker.js';
import { StepRejectedError } from '../../errors.js';
import { nearestName } from '../../shared/nearest-name.js';
import { UsageError } from '../command.js';

/**
 * Reads `--fail <step>=<error>`: the method is not called, and fails for good. `<step>.compensate` is the compensation.
 * @throws UsageError if there is no such step
 */
export function readFailures(
  written: readonly string[],
  types: readonly Type[],
): (invoke: Invoker) => Invoker {
  const known = types.flatMap((type) => [
    ...SagaMetadata.stepsOf(type).map(({ method }) => method),
    ...methodsOf(type).plain,
  ]);
  const failures = new Map(written.map((one) => readFailure(one, known)));
  if (failures.size === 0) return (invoke) => invoke;
  return (invoke) => (method, context, payload) => {
    const error = failures.get(method);
    if (error !== undefined) throw new StepRejectedError(error);
    return invoke(method, context, payload);
  };
}

function readFailure(written: string, known: readonly string[]): [string, string] {
  const at = written.indexOf('=');
  const step = at < 0 ? written : written.slice(0, at);
  if (!known.includes(step)) {
    const nearest = nearestName(step, known);
    const hint = nearest === undefined ? `The steps: ${known.join(', ')}` : `Did you mean '${nearest}'?`;
    throw new UsageError(`--fail '${step}' is not a step. ${hint}`);
  }
  return [step, at < 0 ? `${step} failed, because of --fail` : written.slice(at + 1)];
}
