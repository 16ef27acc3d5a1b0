import { type Mutant, specs } from './mutant.js';

/** Of what a remote step has that a sub-saga has not. */
const killers = [specs('engine/ports/handler-calls', 'machine/sub-sagas'), specs('test/sagas/remote-steps')];

export const HANDLER_MUTANTS: readonly Mutant[] = [
  {
    name: 'give a remote step the results of the saga in which its handler ran',
    file: 'engine/run/child-sagas.ts',
    find: 'result: handlerResult(handler, child)',
    replace: 'result: resultsText(child.state)',
    killers,
  },
  {
    name: 'tell a handler the saga in which it runs, instead of the one that asks',
    file: 'engine/ports/handler-calls.ts',
    find: 'const own = Object.entries({ sagaId, correlationId, step, input });',
    replace: 'const own = Object.entries({ correlationId, step, input });\n  void sagaId;',
    killers,
  },
  {
    name: 'take a rejection by a handler for an error',
    file: 'engine/ports/handler-calls.ts',
    find: 'return { kind: failure.kind, error: failure.error };',
    replace: 'return { error: failure.error };',
    killers,
  },
  {
    name: 'take a rejection by a handler for an error (in the machine)',
    file: 'machine/sub-sagas.ts',
    find: "kind: event.kind ?? 'error'",
    replace: "kind: 'error'",
    killers,
  },
  {
    name: 'withdraw a call of a handler that a worker holds',
    file: 'engine/ports/handler-calls.ts',
    find: ' || saga.lockedBy !== undefined',
    replace: '',
    killers,
  },
  {
    name: 'withdraw a call of a handler that may have been made',
    file: 'engine/ports/handler-calls.ts',
    find: 'attempts === 0 && !unknown',
    replace: 'attempts >= 0 || unknown',
    killers,
  },
  {
    name: 'wait for a process with the handler to withdraw a call that nobody has taken',
    file: 'engine/run/child-sagas.ts',
    find: 'withdrawEdit(saga, reason) ?? requestCancelEdit',
    replace: 'requestCancelEdit',
    killers: [specs('test/sagas/remote-steps')],
  },
  {
    name: 'undo a handler only where it is known',
    file: 'engine/run/child-sagas.ts',
    find: 'graph ?? graphUnknownHere(saga)',
    replace: 'graph',
    killers: [specs('test/sagas/remote-steps')],
  },
];
