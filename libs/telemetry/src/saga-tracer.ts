import {
  context,
  type Exception,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { ObservedEvent, SagaFailure, SerializedError } from 'nestjs-durable-saga';
import { type NewSaga, handlerOf, isEnd, serializeError } from 'nestjs-durable-saga/internal';
import type {
  AttemptWatch,
  MeasuredAttempt,
  ObservedSaga,
  StartWatch,
} from 'nestjs-durable-saga/internal/runtime';
import { ATTRIBUTE, errorIn, attemptKindOf, outcomeOf, sagaAttributes } from './saga-attributes.js';
import { contextOfSaga, contextOfStarter, traceparentOfSpan } from './span-context.js';

const OPERATION = { run: 'step', compensate: 'compensate', probe: 'probe' } as const;
/** A saga that compensated for one of these reasons did what was requested. */
const INTENDED: readonly SagaFailure['kind'][] = ['cancelled', 'undone'];

/**
 * Makes the spans of sagas.
 *
 * A span belongs to one process: it is not visible before it has ended, and no other process can end it. A saga may
 * take months and many processes. So the span of its start ties its spans together. That span is short, and part of the
 * trace of the caller. Its context is stored with the saga, as the tag `traceparent`, and every attempt, in any
 * process, is its child. A crash loses the spans in progress, but no parent of others. The saga's own span, from its
 * start to its end, is made once it has ended, by the process that ended it. So its duration and its outcome are true,
 * and no process has to live as long.
 *
 * The context is a tag, not a column: nothing is written for sagas that are not traced, sub-sagas and handlers inherit
 * it with the other tags, and operators find a saga by its trace.
 */
export class SagaTracer {
  constructor(
    private readonly tracer: Tracer,
    /** False: spans have the names and codes of errors, and leave out what errors and reasons say. */
    private readonly showsMessages = true,
  ) {}

  starting(saga: Omit<NewSaga, 'leased'>): StartWatch {
    const attributes = sagaAttributes(saga);
    const options = { kind: SpanKind.PRODUCER, attributes };
    const span = this.tracer.startSpan(`start ${saga.name}`, options, contextOfStarter());
    return {
      traceparent: traceparentOfSpan(span),
      ended: (result) => {
        span.setAttribute(ATTRIBUTE.created, result.created);
        if (!result.created)
          span.setAttribute(ATTRIBUTE.id, result.existing ? result.existing.id : result.lockHolder);
        span.end();
      },
      failed: (error) => {
        this.failed(span, serializeError(error));
        span.end();
      },
    };
  }

  attempting(made: MeasuredAttempt): AttemptWatch {
    const { saga, step, index, method, attempt } = made;
    const kind = attemptKindOf(made);
    const parent = contextOfSaga(saga);
    const attributes = {
      ...sagaAttributes(saga),
      ...{
        [ATTRIBUTE.step]: step,
        [ATTRIBUTE.kind]: kind,
        [ATTRIBUTE.attempt]: attempt,
        [ATTRIBUTE.method]: method,
      },
      ...(index !== undefined && { [ATTRIBUTE.index]: index }),
      ...(saga.takeovers > 0 && { [ATTRIBUTE.takeovers]: saga.takeovers }),
    };
    const name = `${OPERATION[kind]} ${handlerOf(saga.name) ?? `${saga.name}.${step}`}`;
    const span = this.tracer.startSpan(name, { kind: SpanKind.CONSUMER, attributes }, parent);
    const within = trace.setSpan(parent, span);
    return {
      traceparent: traceparentOfSpan(span),
      within: (call) => context.with(within, call),
      ended: (event, brokenOff) => {
        span.setAttribute(ATTRIBUTE.outcome, outcomeOf(event, brokenOff));
        const error = errorIn(event);
        if (error) this.failed(span, error);
        span.end();
      },
    };
  }

  happened(event: ObservedEvent, saga: ObservedSaga): void {
    if (!isEnd(event)) return;
    const attributes = { ...sagaAttributes(saga), [ATTRIBUTE.status]: event.status };
    const startTime = new Date(saga.createdAt);
    const span = this.tracer.startSpan(`saga ${saga.name}`, { attributes, startTime }, contextOfSaga(saga));
    const failure = 'failure' in event ? event.failure : undefined;
    if (failure && !INTENDED.includes(failure.kind)) {
      const { error, kind, reason = kind } = failure;
      if (error) this.failed(span, error);
      else span.setStatus({ code: SpanStatusCode.ERROR, message: this.showsMessages ? reason : kind });
    }
    // Both are the database's time, the latter as well as this process knows it.
    span.end(event.at < startTime ? startTime : event.at);
  }

  private failed(span: Span, { name, message, stack, code }: SerializedError): void {
    const told: Exception = this.showsMessages ? { name, message, stack, code } : { name, code };
    span.recordException(told);
    span.setStatus({ code: SpanStatusCode.ERROR, message: told.message ?? name });
    span.setAttribute(ATTRIBUTE.error, name);
  }
}
