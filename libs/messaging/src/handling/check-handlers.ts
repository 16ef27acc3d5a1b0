import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { SagaConfigurationError, SagaService } from 'nestjs-durable-saga';
import { DURABLE_EVENT, type DurableSettings } from './durable-settings.js';

/** A method that handles messages, and its settings. */
type Handler = readonly [method: string, settings: DurableSettings];

/** The applications that were checked: each part that handles messages asks for it. */
const checked = new WeakSet<ModulesContainer>();

/**
 * Checks the handlers of messages when the application starts: Nest calls those of controllers only, and some need a module.
 * @throws SagaConfigurationError that names all handlers that could not do their work
 */
export function checkHandlers(modules: ModulesContainer): void {
  if (checked.has(modules)) return;
  const all = [...modules.values()];
  const has = (provider: unknown) => all.some(({ providers }) => providers.has(provider as never));
  const classesOf = (kind: 'providers' | 'controllers') =>
    new Set(all.flatMap((module) => [...module[kind].values()].map(({ metatype }) => metatype as unknown)));
  const controllers = classesOf('controllers');
  const providers = [...classesOf('providers')].filter((type) => !controllers.has(type));
  const problems = [
    ...providers.flatMap((type) =>
      handlersOf(type).map(
        ([method]) =>
          `${nameOf(type)}.${method} handles messages, but ${nameOf(type)} is no controller, and Nest calls only those of ` +
          `controllers. Decorate it with @Controller(), and list it in the controllers of its module.`,
      ),
    ),
    ...[...controllers].flatMap((type) =>
      handlersOf(type).flatMap(([method, settings]) =>
        missing(settings, has).map((problem) => `${nameOf(type)}.${method} ${problem}`),
      ),
    ),
  ];
  if (problems.length > 0) throw new SagaConfigurationError(problems.join(' '));
  checked.add(modules);
}

/** Checks the handlers of an application that imports SagaMessagingModule. */
@Injectable()
export class HandlerCheck implements OnModuleInit {
  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {}

  onModuleInit(): void {
    checkHandlers(this.modules);
  }
}

function handlersOf(type: unknown): Handler[] {
  const prototype =
    typeof type === 'function' ? (type.prototype as Record<string, object> | undefined) : undefined;
  if (!prototype) return [];
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((method): Handler[] => {
    const settings = Reflect.getMetadata(DURABLE_EVENT, prototype[method]!) as DurableSettings | undefined;
    return settings ? [[method, settings]] : [];
  });
}

function missing({ attempts, signal }: DurableSettings, has: (provider: unknown) => boolean): string[] {
  const problems: string[] = [];
  if (attempts !== undefined && !has(HandlerCheck))
    problems.push(
      'publishes dead letters (attempts), but the application has no SagaMessagingModule. Import ' +
        'SagaMessagingModule.forRoot() in the root module, with relay: false if another process sends, or remove attempts.',
    );
  if (signal !== undefined && !has(SagaService))
    problems.push(
      'passes replies to sagas, but the application has no SagaModule. Import SagaModule.forRoot() in the root module, ' +
        'with worker: false if sagas run elsewhere.',
    );
  return problems;
}

function nameOf(type: unknown): string {
  return (type as { readonly name: string }).name;
}
