import { Body, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import { SagaApprovalPendingError } from '../../errors.js';
import type { Duration } from '../../definition/options/duration.js';
import { givenTime } from '../../shared/given-time.js';
import type { OperatorOptions } from '../../nest/calls/operator-options.js';
import type { SagaService } from '../../nest/saga.service.js';
import { AdminAccess } from '../admin-access.js';
import type { OperatorAction } from '../admin.options.js';
import { AdminRuntime } from '../admin.runtime.js';
import { ApiGroup } from '../api-docs.js';
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

const OPERATOR = ['reason', 'by', 'expects'] as const;

/** Done, or waiting for so many other people to say the same. */
export type OperatorAnswer =
  | { readonly done: true }
  | { readonly done: false; readonly approvals: number; readonly needed: number };

/** What every call may say, as it was sent. */
interface Sent {
  readonly reason?: unknown;
  readonly by?: unknown;
  readonly expects?: unknown;
}

type Call = (sagas: SagaService, options: OperatorOptions) => Promise<void>;

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
    return this.act('cancel', id, request, () => {
      const given = readBody(body, [...OPERATOR, 'unlessBegun']);
      const own = given.unlessBegun === undefined ? {} : { unlessBegun: given.unlessBegun as string };
      return { given, call: (sagas, options) => sagas.cancel(id, { ...options, ...own }) };
    });
  }

  @Post('abort')
  @Action('Stops a saga and compensates nothing', OperatorDto)
  abort(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('abort', id, body, request, (sagas, call) => sagas.abort(id, call));
  }

  @Post('undo')
  @Action('Compensates a completed saga', OperatorDto)
  undo(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('undo', id, body, request, (sagas, call) => sagas.undo(id, call));
  }

  @Post('pause')
  @Action('Pauses a saga: no further step begins', OperatorDto)
  pause(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('pause', id, body, request, (sagas, call) => sagas.pause(id, call));
  }

  @Post('resume')
  @Action('Resumes a paused saga', OperatorDto)
  resume(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('resume', id, body, request, (sagas, call) => sagas.resume(id, call));
  }

  @Post('retry')
  @Action(
    'Retries the failed steps of a stuck or suspended saga, or makes the next attempt at once',
    RetryDto,
  )
  async retry(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act('retry', id, request, () => {
      const given = readBody(body, [...OPERATOR, 'step', 'input', 'now']);
      const own = {
        ...(given.now !== undefined && { now: given.now as boolean }),
        ...(given.step !== undefined && { step: given.step as string }),
        ...('input' in given && { input: given.input }),
      };
      return { given, call: (sagas, options) => sagas.retry(id, { ...options, ...own }) };
    });
  }

  @Post('skip')
  @Action('Marks the failed step or compensation of a stuck saga as completed manually', SkipDto)
  async skip(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act('skip', id, request, () => {
      const given = readBody(body, [...OPERATOR, 'step', 'result']);
      const own = 'result' in given ? { result: given.result } : {};
      return {
        given,
        call: (sagas, options) => sagas.skip(id, given.step as string, { ...options, ...own }),
      };
    });
  }

  @Post('complete')
  @Action('Marks a step that is running or waiting, or its compensation, as completed elsewhere', CompleteDto)
  async complete(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act('complete', id, request, () => {
      const given = readBody(body, [...OPERATOR, 'step', 'result', 'force']);
      const own = { ...forceOf(given), ...('result' in given && { result: given.result }) };
      return {
        given,
        call: (sagas, options) => sagas.complete(id, given.step as string, { ...options, ...own }),
      };
    });
  }

  @Post('abandonAttempt')
  @Action('Abandons an attempt in progress: its outcome is unknown from now on', AbandonDto)
  async abandonAttempt(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act('abandonAttempt', id, request, () => {
      const given = readBody(body, [...OPERATOR, 'step', 'force']);
      const own = forceOf(given);
      return {
        given,
        call: (sagas, options) => sagas.abandonAttempt(id, given.step as string, { ...options, ...own }),
      };
    });
  }

  @Post('reschedule')
  @Action('Moves the end of a delay or of a wait, or the next attempt of a step', RescheduleDto)
  async reschedule(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act('reschedule', id, request, () => {
      const given = readBody(body, [...OPERATOR, 'step', 'at']);
      const at = givenTime(given.at) as Date | Duration;
      return { given, call: (sagas, options) => sagas.reschedule(id, given.step as string, at, options) };
    });
  }

  @Post('signal')
  @Action('Sends a signal to a saga. A signal that arrives early is kept', SignalDto)
  async signal(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act('signal', id, request, () => {
      const given = readBody(body, ['signal', 'payload', 'messageId']);
      const options = given.messageId === undefined ? {} : { messageId: given.messageId as string };
      return { given: {}, call: (sagas) => sagas.signal(id, given.signal as string, given.payload, options) };
    });
  }

  @Post('approve')
  @Action('Approves an approval step', DecisionDto)
  approve(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.decide('approve', id, body, request);
  }

  @Post('reject')
  @Action('Rejects an approval step: the saga compensates', DecisionDto)
  reject(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.decide('reject', id, body, request);
  }

  private async decide(
    kind: 'approve' | 'reject',
    id: string,
    body: unknown,
    request: unknown,
  ): Promise<OperatorAnswer> {
    return this.act(kind, id, request, () => {
      const { step, comment, by } = readBody(body, ['step', 'comment', 'by']);
      const said = comment === undefined ? {} : { comment: comment as string };
      return {
        given: { by },
        call: (sagas, options) => sagas[kind](id, step as string, { by: options.by!, ...said }),
      };
    });
  }

  private async operate(
    kind: OperatorAction,
    id: string,
    body: unknown,
    request: unknown,
    call: Call,
  ): Promise<OperatorAnswer> {
    return this.act(kind, id, request, () => ({ given: readBody(body, OPERATOR), call }));
  }

  /** Asks for leave by the saga's name, then reads what was sent, and acts in the operator's name. */
  private async act(
    kind: OperatorAction,
    id: string,
    request: unknown,
    read: () => { readonly given: Sent; readonly call: Call },
  ): Promise<OperatorAnswer> {
    const { sagas } = this.admin;
    await this.access.one(kind, id, request);
    const {
      given: { reason, by, expects },
      call,
    } = read();
    const operator = await this.access.operator(request, by);
    // Whatever was sent is checked by the call.
    const options = withoutUndefined({ reason, by: operator, expects }) as OperatorOptions;
    try {
      await call(sagas, options);
      return { done: true };
    } catch (error) {
      if (!(error instanceof SagaApprovalPendingError)) throw error;
      const { approvals, needed } = error;
      return { done: false, approvals, needed };
    }
  }
}

function forceOf({ force }: { readonly force?: unknown }): { force?: boolean } {
  return force === undefined ? {} : { force: force as boolean };
}
