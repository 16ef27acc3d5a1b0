import type { AttemptError } from '../../../definition/types/saga-failure.js';
import { errorsOfJson, errorsToJson } from './errors-json.js';

const stack = 'Error: down\n    at pay (/app/pay.js:1:1)';
const down = { name: 'Error', message: 'down', stack, code: '7' };
const at = (second: number) => `2026-01-02T03:04:0${second}.678Z`;

function stored(errors: readonly AttemptError[]): unknown[] {
  const json = JSON.parse(JSON.stringify(errorsToJson(errors))) as never;
  expect(errorsOfJson(json)).toEqual(errors);
  return json;
}

test('the message of an error is stored once, and so is that of its cause', () => {
  const cause = {
    ...down,
    message: 'c',
    stack: 'Error: c\n    at bank (/app/bank.js:2:2)\n    at async pay',
    cause: { name: 'E', message: 'no stack' },
  };
  const [error] = stored([{ ...down, cause, attempt: 1, at: at(1), during: 'step' }]);
  expect(error).toEqual({
    ...{ name: 'Error', message: 'down', code: '7', frames: 'pay (/app/pay.js:1:1)' },
    ...{ attempt: 1, at: Date.parse(at(1)) },
    cause: { ...cause, stack: undefined, frames: 'bank (/app/bank.js:2:2)\nasync pay' },
  });
});

const OTHER_STACKS = [
  ...['at pay', 'Error: up\n    at pay', '\n    at pay', '', 'Error: down'],
  ...['Error: down\n', 'Error: down\n    at pay\n', 'Error: down\n    at pay\n   at', 'Error: down\nat pay'],
];

test.each(OTHER_STACKS)(
  'a stack that has not the message first and then calls only stays as it is: %j',
  (other) => {
    expect(stored([{ ...down, stack: other, attempt: 1, at: at(1), during: 'step' }])).toMatchObject([
      { stack: other },
    ]);
  },
);

test('an error that repeats is stored once', () => {
  const again = { ...down };
  const errors = [
    { ...down, attempt: 1, at: at(1), during: 'step' },
    { ...again, attempt: 2, at: at(2), during: 'step' },
    { ...again, message: 'up', attempt: 3, at: at(3), during: 'step' },
    { ...down, attempt: 1, at: at(4), during: 'compensation' },
    { ...again, attempt: 2, at: at(5), during: 'compensation' },
    { ...again, attempt: 3, at: 'some day', during: 'compensation' },
  ] as const;
  const [, second, third, fourth, fifth, sixth] = stored(errors);
  expect([second, fifth]).toEqual([
    [2, Date.parse(at(2)), 'step'],
    [2, Date.parse(at(5)), 'compensation'],
  ]);
  expect([third, fourth, sixth]).toMatchObject([{ message: 'up' }, { message: 'down' }, { at: 'some day' }]);
});
