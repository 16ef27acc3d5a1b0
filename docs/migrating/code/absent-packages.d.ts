/**
 * What the pages show of packages that are not installed here, as these declare it: enough to check what is written
 * against them. Checked against @nestjs/cqrs 12 and bullmq 6.
 */
declare module '@nestjs/cqrs' {
  import type { Type } from '@nestjs/common';
  import type { Observable } from 'rxjs';

  export type ICommand = object;
  export type IEvent = object;
  export interface ICommandHandler<Command extends ICommand, Result = unknown> {
    execute(command: Command): Promise<Result>;
  }
  export class EventBus {
    publish(event: object): unknown;
  }
  export function CommandHandler(command: Type): ClassDecorator;
  export function Saga(): PropertyDecorator;
  export function ofType<Event extends IEvent>(
    ...types: Type<Event>[]
  ): (source: Observable<IEvent>) => Observable<Event>;
}

declare module 'bullmq' {
  export interface Job<Data = unknown> {
    readonly data: Data;
    getChildrenValues<Value>(): Promise<Record<string, Value>>;
  }
  interface Connected {
    readonly connection: { readonly host: string; readonly port: number };
  }
  interface FlowJob {
    readonly name: string;
    readonly queueName: string;
    readonly data?: unknown;
    readonly opts?: {
      readonly attempts?: number;
      readonly backoff?: { readonly type: string; readonly delay: number };
      readonly failParentOnFailure?: boolean;
      readonly jobId?: string;
    };
    readonly children?: readonly FlowJob[];
  }
  export class FlowProducer {
    constructor(options: Connected);
    add(flow: FlowJob): Promise<unknown>;
  }
  export class Worker<Data = unknown> {
    constructor(
      queue: string,
      process: (job: Job<Data>) => Promise<unknown>,
      options: Connected & {
        readonly concurrency?: number;
        readonly limiter?: { readonly max: number; readonly duration: number };
      },
    );
  }
}
