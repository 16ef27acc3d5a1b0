import type { StepOfSaga } from '../../libs/saga/src/engine/ports/step-pause.js';
import type { Database } from './database.js';
import type { InvariantChecker } from './invariant-checker.js';
import type { Scenario } from './scenario.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { Timeline } from './timeline.js';

/** The name of all pauses of steps, to be left out of scenarios that are older. */
export const STEP_PAUSES = 'step pauses';

/** An operator pauses steps of all sagas of a name, and resumes them some time later, from whichever process. */
export class StepPauser {
  constructor(
    private readonly timeline: Timeline,
    private readonly scenario: Scenario,
    private readonly checker: InvariantChecker,
    private readonly database: Database,
    private readonly processes: readonly SimulatedProcess[],
  ) {}

  start(): void {
    const { chance, sagas, calm, isLeftOut } = this.scenario;
    if (isLeftOut(STEP_PAUSES)) return;
    sagas.forEach(({ graph }, n) => {
      const dice = chance.for(STEP_PAUSES, n);
      const [isPaused, at, duration] = [dice.happens(0.3), dice.long(0.1, calm), dice.long(1, 20_000)];
      const [by, then] = [dice.int(0, 99), dice.int(0, 99)];
      if (!isPaused || graph.steps.size === 0) return;
      const step = { saga: graph.name, step: dice.among([...graph.steps.keys()]) };
      this.timeline.after(at, () => this.call('pauseStep', step, by));
      this.timeline.after(at + duration, () => this.call('resumeStep', step, then));
    });
  }

  /** In the end no step is paused any more. */
  resumeAll(): void {
    void this.database.store.pauses.all(0).then(({ pauses }) => {
      for (const { saga, step } of pauses) this.call('resumeStep', { saga, step }, -1);
    });
  }

  private call(kind: 'pauseStep' | 'resumeStep', step: StepOfSaga, by: number): void {
    const process = this.processes.at(by % this.processes.length)!;
    if (!process.life.isAlive) return;
    this.checker.note(() => `${process.name}: ${kind} ${step.step} of ${step.saga}`);
    process.engine[kind](step, { by: 'the operator' }).catch((error: Error) => {
      this.checker.note(() => `that is refused: ${error.message}`);
    });
  }
}
