import { type Mutant, specs } from './mutant.js';

/** What operators, and the processes around the engine, rely on. */
export const OPERATING_MUTANTS: readonly Mutant[] = [
  {
    name: 'let a second operator approve another result than the first proposed',
    find: 'samePayload(one.given, call.given)',
    replace: 'one.action === call.action',
    killers: [specs('operate/second-person')],
  },
  {
    name: 'accept undo() of a saga that was compensated or cancelled, and do nothing',
    find: "if (rollsBack && failure?.kind === 'undone') return undefined;",
    replace: 'if (rollsBack || failure) return undefined;',
    killers: [specs('operate/operator')],
  },
  {
    name: 'show no attempt that was lost with its worker before the next checkpoint',
    find: 'withRecorded(count > 0 ? evolve(graph, state, taken) : state)',
    replace: 'withRecorded(count > 1_000_000 ? evolve(graph, state, taken) : state)',
    killers: [specs('workers/lost-attempts')],
  },
  {
    name: 'take a payload that looks like an envelope for one, whatever headers the broker has',
    find: 'return !WITH_HEADERS.some((broker) => context instanceof broker);',
    replace: 'return WITH_HEADERS.length > 0;',
    killers: [specs('incoming-message')],
  },
  {
    name: 'count attempts of a message up to 32,767 only',
    find: 'FROM unnest($2, $3, $4, $5) AS w(id, error, attempts, delay)',
    replace: 'FROM unnest($2, $3, $4::smallint[], $5) AS w(id, error, attempts, delay)',
    killers: [specs('messaging/many-attempts')],
  },
  {
    name: 'write colour codes of stored errors to the terminal',
    find: "return colored(text.replace(CONTROLS, '\\ufffd'));",
    replace: 'return colored(CONTROLS.global ? text : text);',
    killers: [specs('cli/stored-colors')],
  },
  {
    name: 'do not look whether a saga has ended that is waited for no time at all',
    find: 'if (!this.looking || runsHere(id)) return end();',
    replace: "if (!this.looking || runsHere(id) || id !== '') return end();",
    killers: [specs('operate/looking-and-waiting')],
  },
];
