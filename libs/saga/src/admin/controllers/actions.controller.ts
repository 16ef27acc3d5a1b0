import { Body, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import { SagaApprovalPendingError } from '../../errors/saga-errors.js';
import type { OperatorOptions } from '../../nest/operator-options.js';
import type { SagaService } from '../../nest/saga.service.js';
import { AdminAccess } from '../admin-access.js';
import type { OperatorAction } from '../admin.options.js';
import { AdminRuntime } from '../admin.runtime.js';
import { ApiGroup } from '../api-docs.js';
import {
  ActionAnswerDto,
  DecisionDto,
  OperatorDto,
  RetryDto,
  SignalDto,
  SkipDto,
} from '../dto/action.dto.js';
import { Route } from '../dto/error.dto.js';
import { readBody } from '../read-body.js';
import { SafeHeaders } from '../safe-headers.decorator.js';

const OPERATOR = ['reason', 'by', 'expects'] as const;

/** Done, or waiting for so many other people to say the same. */
export type OperatorAnswer =
  { readonly done: true } | { readonly done: false; readonly approvals: number; readonly needed: number };

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
  @Action('Stops a saga and undoes what was done', OperatorDto)
  cancel(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('cancel', id, body, request, (sagas, call) => sagas.cancel(id, call));
  }

  @Post('abort')
  @Action('Stops a saga and undoes nothing', OperatorDto)
  abort(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('abort', id, body, request, (sagas, call) => sagas.abort(id, call));
  }

  @Post('undo')
  @Action('Undoes a saga that completed', OperatorDto)
  undo(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('undo', id, body, request, (sagas, call) => sagas.undo(id, call));
  }

  @Post('pause')
  @Action('Lets nothing more of a saga begin', OperatorDto)
  pause(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('pause', id, body, request, (sagas, call) => sagas.pause(id, call));
  }

  @Post('resume')
  @Action('Lets a paused saga go on', OperatorDto)
  resume(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.operate('resume', id, body, request, (sagas, call) => sagas.resume(id, call));
  }

  @Post('retry')
  @Action('Lets a stuck saga try again what gave up, if need be with another input', RetryDto)
  async retry(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    const given = readBody(body, [...OPERATOR, 'step', 'input']);
    const own = {
      ...(given.step !== undefined && { step: given.step as string }),
      ...('input' in given && { input: given.input }),
    };
    return this.act('retry', id, given, request, (sagas, call) => sagas.retry(id, { ...call, ...own }));
  }

  @Post('skip')
  @Action('Takes the step that a stuck saga stands at as done by hand', SkipDto)
  async skip(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    const given = readBody(body, [...OPERATOR, 'step', 'result']);
    const own = 'result' in given ? { result: given.result } : {};
    return this.act('skip', id, given, request, (sagas, call) =>
      sagas.skip(id, given.step as string, { ...call, ...own }),
    );
  }

  @Post('signal')
  @Action('Sends a saga a signal that it waits for, or will', SignalDto)
  async signal(
    @Param('id') id: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<OperatorAnswer> {
    const given = readBody(body, ['signal', 'payload', 'messageId']);
    const options = given.messageId === undefined ? {} : { messageId: given.messageId as string };
    return this.act('signal', id, {}, request, (sagas) =>
      sagas.signal(id, given.signal as string, given.payload, options),
    );
  }

  @Post('approve')
  @Action('Approves what a step asks for', DecisionDto)
  approve(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.decide('approve', id, body, request);
  }

  @Post('reject')
  @Action('Rejects what a step asks for: the saga turns back', DecisionDto)
  reject(@Param('id') id: string, @Body() body: unknown, @Req() request: unknown): Promise<OperatorAnswer> {
    return this.decide('reject', id, body, request);
  }

  private async decide(
    kind: 'approve' | 'reject',
    id: string,
    body: unknown,
    request: unknown,
  ): Promise<OperatorAnswer> {
    const { step, comment, by } = readBody(body, ['step', 'comment', 'by']);
    return this.act(kind, id, { by }, request, (sagas, call) =>
      sagas[kind](id, step as string, {
        by: call.by!,
        ...(comment !== undefined && { comment: comment as string }),
      }),
    );
  }

  private async operate(
    kind: OperatorAction,
    id: string,
    body: unknown,
    request: unknown,
    call: Call,
  ): Promise<OperatorAnswer> {
    return this.act(kind, id, readBody(body, OPERATOR), request, call);
  }

  /** Asks for leave by the saga's name, and then acts in the operator's. */
  private async act(
    kind: OperatorAction,
    id: string,
    { reason, by, expects }: { reason?: unknown; by?: unknown; expects?: unknown },
    request: unknown,
    call: Call,
  ): Promise<OperatorAnswer> {
    const { sagas } = this.admin;
    const { saga, id: own } = await sagas.get(id);
    await this.access.demand({ kind, saga, id: own }, request);
    const operator = await this.access.operator(request, by);
    // Whatever was sent is checked by the call.
    const options = Object.entries({ reason, by: operator, expects }).filter(
      ([, value]) => value !== undefined,
    );
    try {
      await call(sagas, Object.fromEntries(options));
      return { done: true };
    } catch (error) {
      if (!(error instanceof SagaApprovalPendingError)) throw error;
      const { approvals, needed } = error;
      return { done: false, approvals, needed };
    }
  }
}
