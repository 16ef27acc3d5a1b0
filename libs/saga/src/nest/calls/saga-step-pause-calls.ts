import type { Type } from '@nestjs/common';
import { type PausedStep, toPausedSteps } from '../views/paused-step.js';
import type { Page } from './saga-filter.js';
import { SagaScheduleCalls } from './saga-schedule-calls.js';
import {
  checkedStep,
  type PausedStepsOptions,
  readPausedStepsOptions,
  type StepPauseOptions,
} from './step-pause-calls.js';
import { readWho } from './operator-options.js';

/** The calls of `SagaService` that pause steps of all sagas of a name. */
export abstract class SagaStepPauseCalls extends SagaScheduleCalls {
  /**
   * Pauses a step of all sagas of a name, in all versions: no attempt of it begins in any process until it is resumed, also no
   * other attempt after a failure. Attempts in progress end normally. Compensations, deadlines, timeouts, other branches and
   * operator actions continue. Other processes follow as soon as they are notified, or with their next poll. A paused step is
   * unchanged.
   * @throws SagaNotFoundError if no application of this database has the saga
   * @throws SagaValidationError if no version of the saga has the step, and for invalid options
   * @throws SagaShardUnavailableError if a shard cannot be reached; the step is paused on the others
   */
  async pauseStep(saga: Type | string, step: string, options?: StepPauseOptions): Promise<void> {
    const who = readWho('pauseStep', options);
    const parts = await this.runtime.ready();
    const paused = await checkedStep('pauseStep', parts, saga, step);
    await parts.engine.pauseStep(paused, who);
  }

  /**
   * Resumes a paused step. The sagas that wait for it continue. A step that is not paused is unchanged.
   * @throws the same errors as pauseStep()
   */
  async resumeStep(saga: Type | string, step: string, options?: StepPauseOptions): Promise<void> {
    const who = readWho('resumeStep', options);
    const parts = await this.runtime.ready();
    const resumed = await checkedStep('resumeStep', parts, saga, step, true);
    await parts.engine.resumeStep(resumed, who);
  }

  /**
   * Returns the paused steps of all applications of this database, the oldest pause first.
   * @throws SagaValidationError for invalid options
   */
  async pausedSteps(options?: PausedStepsOptions): Promise<Page<PausedStep>> {
    const { resumed } = readPausedStepsOptions(options);
    const { engine } = await this.runtime.ready();
    const pauses = await engine.stepPauses(resumed);
    const { unreachable } = pauses;
    return { items: toPausedSteps(pauses), ...(unreachable && { unreachable }) };
  }
}
