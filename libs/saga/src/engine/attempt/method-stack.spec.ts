import { withMethodStacks } from './attempt-runner.js';

const OWN = '    at Order.pay (/app/order.js:3:9)\n    at async Bank.charge (/app/bank.js:7:1)';
const ENGINE =
  '    at callSagaMethod (/app/node_modules/x/explorer.js:1:1)\n    at AttemptRunner.bounded (/app/node_modules/x/runner.js:2:2)';

const stackOf = (stack: string) => withMethodStacks({ name: 'Error', message: 'm', stack }).stack;

describe('the stack of an error that a method threw', () => {
  test.each([
    ['called', `Error: m\n${OWN}\n${ENGINE}\n    at SagaRun.beginAll (/x.js:1:1)`],
    [
      'awaited',
      `Error: m\n${OWN}\n    at async AttemptRunner.attempted (/x.js:1:1)\n    at async Run (/x.js:1:1)`,
    ],
  ])('ends where the engine %s the method', (_, stack) => {
    expect(stackOf(stack)).toBe(`Error: m\n${OWN}`);
  });

  test.each([
    ['the engine does not appear in', `Error: m\n${OWN}`],
    ['has lines of the engine only', `Error: m\n${ENGINE}`],
    ['has a message like a line of the engine', `Error: callSagaMethod\n${OWN}`],
    ['is no stack', 'somewhere'],
  ])('stays whole if it %s', (_, stack) => {
    expect(stackOf(stack)).toBe(stack);
  });

  test('ends there in its causes as well', () => {
    const cause = { name: 'Error', message: 'c', stack: `Error: c\n${OWN}\n${ENGINE}` };
    const outer = { name: 'Error', message: 'm', cause: { name: 'Error', message: 'n', cause } };
    expect(withMethodStacks(outer).cause?.cause?.stack).toBe(`Error: c\n${OWN}`);
  });
});
