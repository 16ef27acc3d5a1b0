import { Body, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import { SagaApprovalPendingError } from '../../errors.js';
import type { Duration } from '../../definition/options/duration.js';
import { givenTime } from '../../shared/given-time.js';
import type { OperatorAction as RecordedCall } from '../../engine/ports/operation.js';
import type { OperatorOptions } from '../../nest/calls/operator-options.js';
import type { CancelOptions, CompleteOptions, RetryOptions } from '../../nest/calls/saga-calls.js';
import type { Decision, SignalOptions } from '../../nest/calls/signals.js';
import type { SagaService } from '../../nest/saga.service.js';
import { AdminAccess } from '../admin-access.js';
import type { OperatorAction } from '../admin.options.js';
import { AdminRuntime } from '../admin.runtime.js';
import { ApiGroup } from '../api-docs.js';
import { askedAction } from '../asked-action.js';
import {
  AbandonDto,
  ActionAnswerDto,
  CancelDto,
  CompleteDto,
  DecisionDto,
  OperatorDto,
  RescheduleDto,
  RetryDto,
  SignalDto,
  SkipDto,
} from '../dto/action.dto.js';
import { Route } from '../dto/error.dto.js';
import { readBody } from '../read-body.js';
import { SafeHeaders } from '../safe-headers.decorator.js';
import { withoutUndefined } from '../../shared/without-undefined.js';

/** Done, or waiting for so many other people to say the same. */
export type OperatorAnswer =
  | { readonly done: true }
  | { readonly done: false; readonly approvals: number; readonly needed: number };

/** What was sent. Each call checks what it takes. */
type Sent = Decision &
  OperatorOptions &
  CancelOptions &
  CompleteOptions &
  RetryOptions &
  Pick<SignalOptions, 'messageId'> & { step: string; at: unknown; signal: string; payload?: unknown };

/** A call that is added to those that a saga's history keeps does not compile until `authorize` may be asked about it. */
type SagaAction = Exclude<OperatorAction, 'trigger'> | RecordedCall;

interface ActionOnSaga {
  /** The fields of the body. */
  readonly takes: readonly (keyof Sent)[];
  /** @param sent no other fields than those, with the operator as the application knows them */
  readonly call: (sagas: SagaService, id: string, sent: Sent) => Promise<void>;
}

const OPERATOR = ['reason', 'by', 'expects'] as const;

/** What each action is sent, and calls. */
const ACTIONS: Readonly<Record<SagaAction, ActionOnSaga>> = {
  cancel: { takes: [...OPERATOR, 'unlessBegun'], call: (sagas, id, sent) => sagas.cancel(id, sent) },
  abort: { takes: OPERATOR, call: (sagas, id, sent) => sagas.abort(id, sent) },
  undo: { takes: OPERATOR, call: (sagas, id, sent) => sagas.undo(id, sent) },
  pause: { takes: OPERATOR, call: (sagas, id, sent) => sagas.pause(id, sent) },
  resume: { takes: OPERATOR, call: (sagas, id, sent) => sagas.resume(id, sent) },
  retry: { takes: [...OPERATOR, 'step', 'input', 'now'], call: (sagas, id, sent) => sagas.retry(id, sent) },
  skip: {
    takes: [...OPERATOR, 'step', 'result'],
    call: (sagas, id, { step, ...sent }) => sagas.skip(id, step, sent),
  },
  complete: {
    takes: [...OPERATOR, 'step', 'result', 'force'],
    call: (sagas, id, { step, ...sent }) => sagas.complete(id, step, sent),
  },
  abandonAttempt: {
    takes: [...OPERATOR, 'step', 'force'],
    call: (sagas, id, { step, ...sent }) => sagas.abandonAttempt(id, step, sent),
  },
  reschedule: {
    takes: [...OPERATOR, 'step', 'at'],
    call: (sagas, id, { step, at, ...sent }) =>
      sagas.reschedule(id, step, givenTime(at) as Date | Duration, sent),
  },
  signal: {
    takes: ['signal', 'payload', 'messageId'],
    call: (sagas, id, { signal, payload, messageId }) =>
      sagas.signal(id, signal, payload, withoutUndefined({ messageId })),
  },
  approve: {
    takes: ['step', 'comment', 'by'],
    call: (sagas, id, { step, ...decision }) => sagas.approve(id, step, decision),
  },
  reject: {
    takes: ['step', 'comment', 'by'],
    call: (sagas, id, { step, ...decision }) => sagas.reject(id, step, decision),
  },
};

function Action(summary: string, body: new () => object): MethodDecorator {
  const params = { id: "The saga's id." };
  const route = Route({ summary, params, body, answer: ActionAnswerDto, errors: [400, 404, 409, 415] });
  return (target, key, descriptor) => {
    for (const decorate of [HttpCode(200), SafeHeaders(), route]) decorate(target, key, descriptor);
  };
}

/** Acting on one saga. Every call says who acts and why, and may name the state that it expects. */
@ApiGroup()
export class AdminActionsController {
  constructor(
    @Inject(AdminRuntime) private readonly admin: AdminRuntime,
    @Inject(AdminAccess) private readonly access: AdminAccess,
  ) {}

  @Post('cancel')
  @Action('Stops a saga and compensates its completed steps', CancelDto)
  cancel(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('cancel', id, body, request);
  }

  @Post('abort')
  @Action('Stops a saga and compensates nothing', OperatorDto)
  abort(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('abort', id, body, request);
  }

  @Post('undo')
  @Action('Compensates a completed saga', OperatorDto)
  undo(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('undo', id, body, request);
  }

  @Post('pause')
  @Action('Pauses a saga: no further step begins', OperatorDto)
  pause(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('pause', id, body, request);
  }

  @Post('resume')
  @Action('Resumes a paused saga', OperatorDto)
  resume(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('resume', id, body, request);
  }

  @Post('retry')
  @Action(
    'Retries the failed steps of a stuck or suspended saga, or makes the next attempt at once',
    RetryDto,
  )
  retry(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('retry', id, body, request);
  }

  @Post('skip')
  @Action('Marks the failed step or compensation of a stuck saga as completed manually', SkipDto)
  skip(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('skip', id, body, request);
  }

  @Post('complete')
  @Action('Marks a step that is running or waiting, or its compensation, as completed elsewhere', CompleteDto)
  complete(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('complete', id, body, request);
  }

  @Post('abandonAttempt')
  @Action('Abandons an attempt in progress: its outcome is unknown from now on', AbandonDto)
  abandonAttempt(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act('abandonAttempt', id, body, request);
  }

  @Post('reschedule')
  @Action('Moves the end of a delay or of a wait, or the next attempt of a step', RescheduleDto)
  reschedule(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act('reschedule', id, body, request);
  }

  @Post('signal')
  @Action('Sends a signal to a saga. A signal that arrives early is kept', SignalDto)
  signal(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('signal', id, body, request);
  }

  @Post('approve')
  @Action('Approves an approval step', DecisionDto)
  approve(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('approve', id, body, request);
  }

  @Post('reject')
  @Action('Rejects an approval step: the saga compensates', DecisionDto)
  reject(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.act('reject', id, body, request);
  }

  /** Asks for leave by the saga's name, then reads what was sent, and acts in the operator's name. */
  private async act(kind: SagaAction, id: string, body: unknown, request: unknown): Promise<OperatorAnswer> {
    await this.access.one(askedAction(kind, body), id, request);
    const { takes, call } = ACTIONS[kind];
    const { by, ...sent } = readBody(body, takes);
    const operator = await this.access.operator(request, by);
    try {
      await call(this.admin.sagas, id, { ...sent, ...withoutUndefined({ by: operator }) } as Sent);
      return { done: true };
    } catch (error) {
      if (!(error instanceof SagaApprovalPendingError)) throw error;
      const { approvals, needed } = error;
      return { done: false, approvals, needed };
    }
  }
}
