import { ConsoleLogger, Logger, type LoggerService } from '@nestjs/common';
import { SagaLog } from './saga-log.js';

const ABOUT = { sagaId: '1', saga: 'order', step: 'charge' };
const LINE = 'Saga 1: no answer';

/** What is written to the terminal meanwhile, line by line. */
function written(write: () => void): string[] {
  const lines: string[] = [];
  const streams = [process.stdout, process.stderr];
  // An own property hides the stream's method as long as it is there.
  for (const stream of streams) stream.write = (text: unknown) => lines.push(String(text)) > 0;
  try {
    write();
  } finally {
    for (const stream of streams) Reflect.deleteProperty(stream, 'write');
  }
  return lines.map((line) => line.trimEnd());
}

/** With this as the application's logger. */
function using(logger: LoggerService): SagaLog {
  Logger.overrideLogger(logger);
  return new SagaLog('SagaModule');
}
afterEach(() => void Logger.overrideLogger(new ConsoleLogger()));

test("a line is plain text in Nest's own log", () => {
  const log = using(new ConsoleLogger({ colors: false }));
  const lines = written(() => {
    log.warn(LINE, ABOUT);
    log.error(LINE, undefined, ABOUT);
    log.log('The database can be reached again');
  });
  expect(lines).toEqual([
    expect.stringMatching(/WARN \[SagaModule\] Saga 1: no answer$/),
    expect.stringMatching(/ERROR \[SagaModule\] Saga 1: no answer$/),
    expect.stringMatching(/LOG \[SagaModule\] The database can be reached again$/),
  ]);
});

test("the saga and its step are fields in Nest's own log in JSON, whose message stays a text", () => {
  const log = using(new ConsoleLogger({ json: true, colors: false }));
  const lines = written(() => {
    log.warn(LINE, ABOUT);
    log.error(LINE, 'Error: no answer\n    at charge (order.js:1:1)', ABOUT);
  });
  const [warned, failed] = lines.map((line) => JSON.parse(line) as object);
  expect(warned).toMatchObject({ level: 'warn', context: 'SagaModule', message: LINE, params: ABOUT });
  expect(failed).toMatchObject({
    level: 'error',
    message: LINE,
    params: ABOUT,
    stack: expect.stringContaining('order.js'),
  });
});

test('they are fields of the message for loggers that merge it into the line, and text for those that print it', () => {
  const merged: object[] = [];
  const printed: string[] = [];
  const take = (message: unknown, ...more: unknown[]) => {
    merged.push({ context: more.at(-1), ...(typeof message === 'object' ? message : { message }) });
    printed.push(String(message));
  };
  const log = using({ log: take, warn: take, error: take, debug: take });
  log.warn(LINE, ABOUT);
  log.log('The database can be reached again');
  expect(merged).toEqual([
    { context: 'SagaModule', message: LINE, ...ABOUT },
    { context: 'SagaModule', message: 'The database can be reached again' },
  ]);
  expect(printed).toEqual([LINE, 'The database can be reached again']);
});

test('a logger that can do with texts only is given the text', () => {
  const lines: string[] = [];
  const take = (message: string) => void lines.push(message.toUpperCase());
  const log = using({ log: take, warn: take, error: take });
  log.warn(LINE, ABOUT);
  expect(lines).toEqual([LINE.toUpperCase()]);
});
