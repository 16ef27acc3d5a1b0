import { type Mutant, simulation, specs } from './mutant.js';
import { contract } from './store-contract.js';

/** Mutants of pauses of steps. */
export const STEP_PAUSE_MUTANTS: readonly Mutant[] = [
  {
    name: 'begin attempts of a step that is paused',
    in: 'SagaRun.decide',
    find: 'return paused ? (holdPaused(this.graph, decision, paused) as typeof decision) : decision;',
    replace: 'return decision;',
    killers: [specs('testing/step-pauses'), simulation(50)],
  },
  {
    name: 'pause the compensations of a step as well',
    find: "new Set(['run', 'expand', 'probe']);",
    replace: "new Set(['run', 'expand', 'probe', 'compensate']);",
    killers: [specs('machine/hold-paused')],
  },
  {
    name: 'let a saga that can begin nothing ask its rate limit',
    find: "if (kind === 'begin') return roots(graph).every((name) => paused.has(name));",
    replace: "if (kind === 'begin') return false;",
    killers: [specs('machine/hold-paused')],
  },
  {
    name: 'let a saga sleep that comes to rest for a step that was resumed',
    in: 'rest_while_paused',
    find: 'WHERE p.saga = i.name AND p.step = w.step AND p.resumed_at IS NULL)));',
    replace: 'WHERE p.saga = i.name AND p.step = w.step)));',
    killers: contract('a pause of a step'),
  },
  {
    name: 'let a saga that rolls back sleep on when the step of its probe is resumed',
    find: 'AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND i.finished_at IS NULL',
    replace: "AND i.locked_by IS NULL AND i.status = 'running' AND i.finished_at IS NULL",
    killers: contract('a pause of a step'),
  },
  {
    name: 'wake sagas whose row names a step that only begins like the one that was resumed',
    find: "AND string_to_array(i.step, ', ') @> ARRAY[:step::text]",
    replace: 'AND position(:step::text IN i.step) > 0',
    killers: contract('a pause of a step'),
  },
  {
    name: 'never continue a resume whose process was lost',
    find: 'if (resumed && !isWithin(resumed.at, LONGEST_RESUME, now))',
    replace: 'if (resumed && now < resumed.at)',
    killers: [specs('operate/step-pauses'), specs('pause/step-pauses')],
  },
  {
    name: 'wake only sagas that came to rest before the step was resumed, by the clock of the database',
    find: 'i.name = :saga AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND i.finished_at IS NULL',
    replace:
      'i.name = :saga AND i.updated_at <= now() AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND i.finished_at IS NULL',
    killers: contract('a pause of a step'),
  },
  {
    name: 'claim before the pauses are known',
    find: 'if (!ports.pauses.isKnown) await ports.pauses.known();',
    replace: '',
    killers: [specs('pause/unknown-pauses')],
  },
  {
    name: 'begin the next step before it is recorded that the saga continues without a lost one',
    find: 'this.goesOnWithout;',
    replace: 'false;',
    killers: [specs('run/run-record')],
  },
  {
    name: 'begin the next step before it is recorded that a lost one has lost its join any',
    find: 'before.continued !== after.continued || before.pruned !== after.pruned;',
    replace: 'before.continued !== after.continued;',
    killers: [specs('run/run-record')],
  },
];
