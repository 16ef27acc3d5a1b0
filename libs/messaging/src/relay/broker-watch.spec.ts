import { BrokerWatch } from './send-in-order.js';

let time = 0;
const watch = () => new BrokerWatch(() => time);

test('a failure is the message’s own when the broker takes another right after it', () => {
  const broker = watch();
  broker.answered();
  const failure = broker.failed();
  expect(failure.isTheMessages).toBe(false);
  broker.answered();
  expect(failure.isTheMessages).toBe(true);
});

test('what fails together is an outage, whatever the broker takes once it is back', () => {
  const broker = watch();
  const failures = [broker.failed(), broker.failed()];
  broker.answered();
  expect(failures.map(({ isTheMessages }) => isTheMessages)).toEqual([false, false]);
});

test('a failure after which the broker was silent for a while is an outage', () => {
  const broker = watch();
  const failure = broker.failed();
  time += 1_000;
  broker.answered();
  expect(failure.isTheMessages).toBe(false);
});

test('an outage says nothing about failures after it', () => {
  const broker = watch();
  broker.failed();
  broker.failed();
  broker.answered();
  const failure = broker.failed();
  broker.answered();
  expect(failure.isTheMessages).toBe(true);
});
