import { argumentsOf, type CallName, factsOf } from '../engine/ports/call-table.js';
import { givenTime } from '../shared/given-time.js';
import type { SagaTarget } from './calls/saga-calls.js';
import type { SagaService } from './saga.service.js';

type Calls = Pick<SagaService, CallName>;
type Call = (target: SagaTarget, ...args: unknown[]) => Promise<void>;

/**
 * Makes an operator's call with what a request or a command has for it, by name. The call checks the values.
 * @param given operands and options. A time is an ISO date, or a duration
 */
export function makeCall(
  sagas: Calls,
  name: CallName,
  target: SagaTarget,
  given: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { options: known } = factsOf(name);
  const { operands } = argumentsOf(name);
  const valueOf = (operand: string) =>
    known[operand]!.type === 'time' ? givenTime(given[operand]) : given[operand];
  const options = Object.entries(given).filter(
    ([option, value]) => !operands.includes(option) && value !== undefined,
  );
  return (sagas[name] as Call)(target, ...operands.map(valueOf), Object.fromEntries(options));
}
