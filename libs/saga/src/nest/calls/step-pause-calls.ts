import type { Type } from '@nestjs/common';
import type { StepOfSaga } from '../../engine/ports/step-pause.js';
import { SagaNotFoundError } from '../../errors.js';
import { suggestion } from '../../shared/nearest-name.js';
import { shown } from '../../shared/shown-value.js';
import type { ServiceParts } from '../assemble-engine.js';
import * as kind from '../../definition/options/kinds.js';
import { type OptionTable, withDefault } from '../../definition/options/option-reader.js';
import { readOptions } from '../../definition/options/read-options.js';
import { noSuchStep, versionsOf } from './unknown-steps.js';

/** Options of `SagaOperations.pausedSteps()`. */
export interface PausedStepsOptions {
  /** How many pauses that are over to return as well, the latest first: 0 to 1,000. Default: 0. */
  resumed?: number;
}

const MOST_RESUMED = 1_000;

const PAUSED_STEPS_OPTIONS = {
  resumed: withDefault(kind.count(0, MOST_RESUMED), 0),
} satisfies OptionTable<PausedStepsOptions>;

/** @throws SagaValidationError */
export function readPausedStepsOptions(given: PausedStepsOptions | undefined): { resumed: number } {
  return readOptions('pausedSteps()', PAUSED_STEPS_OPTIONS, given);
}

/**
 * A step of a saga that some application has deployed.
 * @param mayBeGone a step that is paused may have been removed since
 * @throws SagaNotFoundError, SagaValidationError
 */
export async function checkedStep(
  call: string,
  parts: ServiceParts,
  saga: Type | string,
  step: string,
  mayBeGone = false,
): Promise<StepOfSaga> {
  const name = parts.registry.nameOf(saga);
  const versions = await versionsOf(parts, name);
  const steps = [...new Set(versions.flatMap((one) => one.steps))];
  const isPaused = async () =>
    (await parts.engine.stepPauses(0)).some((one) => one.saga === name && one.step === step);
  if (steps.includes(step) || (mayBeGone && (await isPaused()))) return { saga: name, step };
  if (versions.length === 0) {
    const names = parts.registry.all.map(({ graph }) => graph.name);
    const hint = suggestion(name, names, 'Start an application that has it first.');
    throw new SagaNotFoundError(
      `${call}(): no application of this database has a saga named ${shown(name)}. ${hint}`,
    );
  }
  throw noSuchStep(call, `saga '${name}'`, step, steps);
}
