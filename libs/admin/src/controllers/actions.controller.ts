import { Body, Param, Post, Req } from '@nestjs/common';
import { SagaApprovalPendingError } from 'nestjs-durable-saga';
import {
  CALL_NAMES,
  type CallName,
  awaitsDecision,
  callerOptionsOf,
  factsOf,
  isApproval,
  isUuid,
  makeCall,
} from 'nestjs-durable-saga/internal';
import { askedAction } from '../admin-access.js';
import { type ActionAnswer, ActionAnswerDto, bodyOf } from '../dto/action.dto.js';
import { AdminController, Route } from '../route.js';
import { readBody } from '../read-request.js';

/** An approval as it is when leave is asked for: the right to approve it, or once it is decided, to resolve it. */
interface FoundApproval {
  readonly isUndecided: boolean;
  readonly revision: number;
}

/** What the call expects: also the state for which leave was given. */
function inState({ revision }: FoundApproval, expects: unknown): unknown {
  if (expects === undefined) return { revision };
  if (typeof expects === 'string') return { revision, status: expects };
  return typeof expects === 'object' ? { revision, ...expects } : expects;
}

/** Acting on one saga: a route for each call of the table. Every call says who acts and why. */
export class AdminActionsController extends AdminController {
  /** Asks for leave by the saga's name, then reads what was sent, and acts in the operator's name. */
  private async act(name: CallName, id: string, body: unknown, request: unknown): Promise<ActionAnswer> {
    const approval = name === 'resolve' ? await this.approvalIn(id, body) : undefined;
    await this.access.one(askedAction(approval?.isUndecided ? 'approve' : name, body), id, request);
    const known = callerOptionsOf(name);
    const { by, ...sent } = readBody(body, [...known, ...Object.keys(factsOf(name).options)]);
    if (approval) sent.expects = inState(approval, sent.expects);
    const operator = await this.access.operator(request, by);
    try {
      await makeCall(this.admin, name, id, known.includes('by') ? { ...sent, by: operator } : sent);
      return { done: true };
    } catch (error) {
      if (!(error instanceof SagaApprovalPendingError)) throw error;
      const { approvals, needed } = error;
      return { done: false, approvals, needed };
    }
  }

  /** The approval that a call would resolve. Undefined: its step is none. */
  private async approvalIn(id: string, body: unknown): Promise<FoundApproval | undefined> {
    const { step = '' } = askedAction('resolve', body);
    if (!isUuid(id)) return undefined;
    const { engine } = await this.admin.ready();
    const saga = await engine.load({ id: id.toLowerCase() });
    const graph = saga && (await engine.graphOf(saga));
    if (!saga || !isApproval(saga, graph, step)) return undefined;
    return { isUndecided: awaitsDecision(saga, graph, step), revision: saga.checkpoints };
  }

  /** The routes are methods, as decorators ask for. */
  static {
    for (const name of CALL_NAMES) {
      // Named as the call, by which OpenAPI knows it.
      const methods = {
        [name](this: AdminActionsController, id: string, body: unknown, request: unknown) {
          return this.act(name, id, body, request);
        },
      };
      Object.defineProperty(this.prototype, name, { value: methods[name], configurable: true });
      const route = Route({
        summary: factsOf(name).summary,
        params: { id: "The saga's id." },
        body: bodyOf(name),
        answer: ActionAnswerDto,
        errors: [400, 404, 409, 415],
      });
      const descriptor = Object.getOwnPropertyDescriptor(this.prototype, name)!;
      for (const decorate of [Post(name), route]) decorate(this.prototype, name, descriptor);
      [Param('id'), Body(), Req()].forEach((decorate, index) => decorate(this.prototype, name, index));
      Reflect.defineMetadata('design:paramtypes', [String, Object, Object], this.prototype, name);
    }
  }
}
