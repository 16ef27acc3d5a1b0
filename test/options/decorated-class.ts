import { Saga, SagaError } from '../../libs/saga/src/index.js';
import { analyzeSaga } from '../../libs/saga/src/diagram.js';
import { buildHandlerGraphs } from '../../libs/saga/src/definition/build/build-handler-graphs.js';

/** The class of a saga whose method has this decorator. */
export function decorated(
  decorate: (...args: never[]) => (target: never, key: string, descriptor: never) => void,
) {
  return (...args: never[]): unknown => {
    class Decorated {
      act() {}
      undo() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Decorated.prototype, 'act');
    decorate(...args)(Decorated.prototype as never, 'act', descriptor as never);
    Saga({ name: 'decorated' })(Decorated);
    const findings = analyzeSaga(Decorated);
    const handlers = buildHandlerGraphs(Decorated);
    if (findings.length > 0)
      throw new Refused(findings.map(({ problem, fix }) => `${problem}. ${fix}`).join(' '));
    return handlers;
  };
}

/** Thrown by a sample whose call reports what is wrong in another way than by throwing. */
export class Refused extends SagaError {
  readonly code = 'TEST';
}
