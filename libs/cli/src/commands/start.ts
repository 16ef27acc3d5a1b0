import { type RunnableSaga, handlerOf, sagaLabel, withoutUndefined } from 'nestjs-durable-saga/internal';
import { CannotTell, command, did, JSON_OPTION, option, Refusal } from '../command.js';
import { followSaga } from '../follow-saga.js';
import { checkEncoded, type Deployed, SAGA_OPTIONS } from '../operator-session.js';
import { operating } from '../session.js';
import { exitOf } from '../text/format.js';
import { JSON_SOURCES, readDate, readJson, readTags, readTime, readWhole } from '../values.js';
import { deployedAs } from './graph.js';

/**
 * A saga is stored with what its definition says of its start: version, first steps, deadline. That is stored beside
 * its graph (GraphRecord.about), so the database alone is enough, and what is started here is what the processes that
 * are deployed would have started. Functions and schemas are not stored: one with a lockKey or an input check is refused
 * without the file that has its class, for it would run beside those that it has to wait for, or with what it was never
 * meant to be given. What else `start()` comes to ask of a class belongs
 * into the description, or has to be refused here.
 */
export const start = command({
  words: 'start',
  operands: ['<saga[@version]>', '[<input>]'],
  summary: 'Starts a saga, by default in the highest deployed version',
  details: `The input is ${JSON_SOURCES}. A saga with a lockKey, a key of its limit, a computed timeout or an input schema requires --module.`,
  examples: [
    `saga start place-order '{"sku":"cup"}' --correlation-id order-1234 --wait`,
    'saga start place-order @order.json --delay 15m --module dist/app.module.js',
  ],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    'correlation-id': option.text('<id>', 'a second start with the same value returns the same saga'),
    id: option.text('<uuid>', 'a second start with the same value returns the same saga'),
    tag: option.several('<name>=<value>', 'a tag to find the saga by'),
    priority: option.text('<0..100>', '0 to 100, higher runs sooner; default: 0'),
    delay: option.text('<duration>', 'start after this time: 30s, 10m'),
    'start-at': option.text('<time>', 'start at this time: 2026-11-21T22:00Z'),
    module: option.text('<file>', 'the compiled module with its class, if required: dist/app.module.js'),
    wait: option.flag('follow it until it ends or needs attention; same exit codes as saga watch'),
    timeout: option.text('<duration>', 'with --wait: the maximum time to wait'),
  },
  run: async ({ operands: [name, written], values, terminal }) => {
    const { id, 'correlation-id': correlationId, delay, 'start-at': startAt, module } = values;
    const input = await readJson(written, '<input>', terminal);
    const options = withoutUndefined({
      ...{ id, correlationId, tags: readTags(values.tag), priority: readWhole(values.priority, 'priority') },
      delay: readTime(delay, 'delay'),
      startAt: startAt === undefined ? undefined : readDate(startAt, '--start-at'),
    });
    const timeout = readTime(values.timeout, 'timeout');
    const found = module === undefined ? [] : await sagasOf(module);
    return operating(
      values,
      terminal,
      async (operated) => {
        const saga = deployedAs(name!, operated.deployed);
        await checkStartable(saga, found, module);
        checkEncoded(operated, written && '<input>');
        const { id, created } = await operated.sagas.start(operated.typeOf(saga), input, options);
        const text = `${created ? 'Started' : 'Already exists:'} ${sagaLabel(saga)} ${id}`;
        if (!values.wait) return did(text, { id, created });
        terminal.out(values.json ? JSON.stringify({ id, created }) : text);
        return exitOf(await followSaga(operated, id, terminal, { json: values.json, timeout }));
      },
      found,
    );
  },
});

async function sagasOf(file: string): Promise<RunnableSaga[]> {
  const { sagasOfFile } = await import('../sagas-of-module.js');
  return sagasOfFile(file);
}

async function checkStartable(
  saga: Deployed,
  found: readonly RunnableSaga[],
  file: string | undefined,
): Promise<void> {
  const label = sagaLabel(saga);
  if (handlerOf(saga.name) !== undefined)
    throw new Refusal(`${label} is a step handler, which only remote steps start`, 'SAGA_STATE');
  if (file === undefined) {
    const needed = neededOf(saga);
    if (needed === undefined) return;
    throw new CannotTell(
      `${label} has ${needed}, which only its class contains. Give the compiled file of the application's root ` +
        'module as --module dist/app.module.js',
      'SAGA_DEFINITION',
    );
  }
  const own = found.find(({ graph }) => sagaLabel(graph) === label);
  if (!own) throw new CannotTell(`${file} has no ${label}, which is the deployed version`, 'SAGA_DEFINITION');
  const { diffGraphs, recordOf } = await import('nestjs-durable-saga/internal');
  const differences = [...diffGraphs(saga.graph, recordOf(own.graph)).differences];
  if (saga.about.inputChecked && own.graph.input === undefined)
    differences.push('its input is not validated any more');
  if (differences.length > 0)
    throw new CannotTell(
      `${label} of ${file} differs from the deployed version: ${differences.join('; ')}`,
      'SAGA_DEFINITION',
    );
}

/** The functions, and the schema, of its class that a start calls. Undefined: none. */
function neededOf({ about }: Deployed): string | undefined {
  const needed = [
    about.locked && 'lockKey',
    about.limit?.keyed && 'limit.key',
    about.rateLimit?.keyed && 'rateLimit.key',
    about.timeoutComputed && 'a timeout that is computed',
    about.slaComputed && 'an sla that is computed',
    about.inputChecked && 'an input schema',
  ].filter((what) => typeof what === 'string');
  return needed.length > 0 ? needed.join(', ') : undefined;
}
