import { Body, NotFoundException, Post, Req } from '@nestjs/common';
import { SagaDefinitionError, SagaValidationError, type StartOptions } from 'nestjs-durable-saga';
import { OptionReader, required, shown, withoutProblems } from 'nestjs-durable-saga/internal';
import { askedAction } from '../admin-access.js';
import { dto, field } from '../api-docs.js';
import { AdminController, Route } from '../route.js';
import { isoTime, readBody, sagaOf } from '../read-request.js';

const FIELDS = ['id', 'correlationId', 'priority', 'delay', 'startAt', 'tags'] as const;

/** A saga that was started, or that its id or correlation id already belongs to. */
export interface StartAnswer {
  readonly id: string;
  readonly created: boolean;
}

interface StartBody extends Pick<StartOptions, (typeof FIELDS)[number]> {
  saga: string;
  input?: unknown;
}

/** A saga to start. */
const StartDto = dto<StartBody>('StartDto', {
  saga: field.text('The name of the saga, which starts in its highest version.', 'place-order'),
  input: field.optional(field.object('The input. It is validated as the saga says.')),
  id: field.optional(field.uuid('The id of the saga. Default: a new UUIDv7.')),
  correlationId: field.optional(
    field.text('The correlation id, unique per saga name, such as the number of an order. Default: the id.'),
  ),
  priority: field.optional({ type: 'integer', minimum: 0, maximum: 100, default: 0 }),
  delay: field.optional(field.text('The delay before the saga begins. Default: none.', '10s')),
  startAt: field.optional(field.time('The time at which the saga begins. It excludes `delay`.')),
  tags: field.optional(field.tags()),
});

const StartAnswerDto = dto<StartAnswer>('StartAnswerDto', {
  id: field.uuid('The id of the saga.'),
  created: field.flag('false: the saga already existed, and was started with the same input.'),
});

/** Starting sagas by their names, for programs in any language. */
export class AdminStartController extends AdminController {
  @Post()
  @Route({
    summary:
      'Starts a saga. The same id or correlation id again returns the same saga, which is started once',
    body: StartDto,
    answer: StartAnswerDto,
    errors: [400, 404, 409, 415],
  })
  async start(@Body() body: unknown, @Req() request: unknown): Promise<StartAnswer> {
    await this.access.demand({ ...askedAction('start', body), ...sagaOf(body) }, request);
    const { saga, input, startAt, ...given } = readBody(body, ['saga', 'input', ...FIELDS]);
    if (typeof saga !== 'string' || saga === '')
      throw new SagaValidationError(`saga is ${shown(saga)}; give the name of a saga.`);
    const { registry } = await this.admin.ready();
    checkExists(() => registry.latestOf(saga));
    // The call validates whatever was sent.
    const options = { ...given, ...(startAt !== undefined && { startAt: timeOf(startAt) }) };
    const start = () => this.admin.sagas.start(saga, input, options as StartOptions);
    const { id, created } = await this.access.concealing(start, request);
    return { id, created };
  }
}

function checkExists(find: () => unknown): void {
  try {
    find();
  } catch (error) {
    if (!(error instanceof SagaDefinitionError)) throw error;
    const { code, message } = error;
    throw new NotFoundException({ statusCode: 404, code, message });
  }
}

function timeOf(given: unknown): Date {
  return withoutProblems('The body', SagaValidationError, (report) =>
    required(isoTime).read(given as string, 'startAt', new OptionReader(report)),
  );
}
