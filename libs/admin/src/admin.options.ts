import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import {
  type CallName,
  type Kind,
  type OptionTable,
  type OptionsRead,
  kind,
  optional,
  required,
  withDefault,
} from 'nestjs-durable-saga/internal';
import { readModuleOptions } from 'nestjs-durable-saga/internal/runtime';

/** An action that an operator requests in the admin. */
export interface AdminAction {
  /**
   * The kind of the action. `look`: reading lists, sagas, definitions and figures. `start`: starting a saga. `bulk`: an action on all sagas that
   * match a filter; `authorize` is called for that action as well. `pauseStep`, `resumeStep`: pausing a step of all sagas of a
   * name, and resuming it.
   */
  readonly kind: AdminActionKind;
  /**
   * The name of the saga. Absent if the action concerns no single saga. For data of several sagas, `authorize` is
   * called once per saga.
   */
  readonly saga?: string;
  /** The id of the saga, if the action concerns one saga. */
  readonly id?: string;
  /**
   * The name of the step, if the action concerns one. For an item of a step (`ship[3]`), the name of its step. A `retry`
   * without a step concerns all steps that have failed.
   */
  readonly step?: string;
  /**
   * What was sent with the request, not yet checked: the `input` of a `retry`, for example, or the `filter` of a bulk
   * action. Absent for `look`, and if `authorize` is called to find out which actions to offer.
   */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** The kinds of actions: reading, starting, bulk actions, those on a step of all sagas of a name, and the actions on a saga. */
export type AdminActionKind = 'look' | 'start' | 'bulk' | 'pauseStep' | 'resumeStep' | OperatorAction;

/** The actions on a saga. `pause`, `resume` and `trigger` are also those on the schedule of a saga. */
export type OperatorAction = CallName | 'trigger';

/** Options of `SagaAdminModule`, or the result of its factory. */
export interface SagaAdminModuleOptions {
  /**
   * Returns whether a request that the guards let in may do an action. `request` is that of the HTTP platform (express,
   * fastify), with the properties that the guards added. Default: every action is allowed.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- each platform has its own, and guards add to it
  authorize?: (action: AdminAction, request: any) => boolean | Promise<boolean>;
  /**
   * Returns the operator, who is recorded in the saga's history; 1 to 200 characters. Default: the name that the
   * request gives, unverified.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  operator?: (request: any) => string | Promise<string>;
  /** Origins whose pages may send actions, such as `https://ops.example.com`, beside the admin's own. Default: none. */
  origins?: readonly string[];
  /** The title in the dashboard's header, which identifies the system, such as `production`. Default: none. */
  title?: string;
}

/** Options that are required when routes are created, and therefore are not part of a factory's result. */
export interface SagaAdminRoutes {
  /** The path of the dashboard and of all routes, below a global prefix if there is one. Default: `'sagas'`. */
  path?: string;
  /**
   * The guards of all routes, as in `@UseGuards()`. `[]` allows every request: use it only if only operators can reach
   * the server.
   */
  guards: readonly (CanActivate | Type<CanActivate>)[];
  /** `false`: only the REST routes. Default: true. */
  dashboard?: boolean;
  /** Modules that provide the dependencies of the guards. Default: none. */
  imports?: ModuleMetadata['imports'];
}

export type ResolvedAdminOptions = OptionsRead<typeof OPTIONS>;

export const DEFAULT_PATH = 'sagas';
const isOrigin = (one: unknown) =>
  typeof one === 'string' && URL.canParse(one) && new URL(one).origin === one;
const OPTIONS = {
  authorize: optional(kind.func<NonNullable<SagaAdminModuleOptions['authorize']>>()),
  operator: optional(kind.func<NonNullable<SagaAdminModuleOptions['operator']>>()),
  origins: withDefault(
    kind.checked<readonly string[]>(
      (origins) => Array.isArray(origins) && origins.every(isOrigin),
      "give an array of origins without paths, such as ['https://ops.example.com']",
    ),
    [],
  ),
  title: optional(kind.text),
} satisfies OptionTable<SagaAdminModuleOptions>;
/** No spaces, parameters or wildcards; they would be the router's. */
const PATH = /^[\w.~-]+(\/[\w.~-]+)*$/;
type Guards = SagaAdminRoutes['guards'];
const guards: Kind<Guards> = {
  read: (value, option, reader) => {
    if (areGuards(value)) return value;
    if ((value as unknown) !== undefined)
      return reader.refuse(value, option, 'give an array of guards, as @UseGuards() takes them');
    reader.report(
      'there are no guards, so that anyone who reaches these routes could read and cancel every saga',
      'give guards: [YourAuthGuard], or guards: [] if only operators can reach them',
    );
    return undefined;
  },
};
const ROUTE_OPTIONS = {
  path: withDefault(
    kind.checked<string>(
      (path) => typeof path === 'string' && PATH.test(withoutSlashes(path)),
      "give a path such as 'sagas' or 'ops/sagas'",
    ),
    DEFAULT_PATH,
  ),
  guards: required(guards),
  dashboard: withDefault(kind.flag, true),
  imports: optional(
    kind.checked<NonNullable<SagaAdminRoutes['imports']>>(Array.isArray, 'give an array of modules'),
  ),
} satisfies OptionTable<SagaAdminRoutes>;
export const ROUTE_NAMES = Object.keys(ROUTE_OPTIONS) as (keyof SagaAdminRoutes)[];

/**
 * Returns the options with defaults.
 * @param options all options of `register()`, or what the factory of `registerAsync()` returned
 * @param routes the object that has the options of the routes: that of all options, or that of the factory
 * @throws SagaConfigurationError that names all invalid options, their values and how to fix them
 */
export function withAdminDefaults(
  options: SagaAdminModuleOptions,
  routes: Partial<SagaAdminRoutes>,
): ResolvedAdminOptions {
  const isOne = (options as object) === routes;
  const table = isOne ? { ...OPTIONS, ...ROUTE_OPTIONS } : OPTIONS;
  return readModuleOptions('SagaAdminModule', table, options, (read, reader) => {
    if (!isOne) reader.read(ROUTE_OPTIONS, routes);
    return read;
  });
}

/** The routes that are asked for, with nothing in the place of what is invalid: withAdminDefaults reports that. */
export function routesOf(given: Partial<SagaAdminRoutes> | null | undefined) {
  const { path, guards: guarded, dashboard, imports } = given ?? {};
  return {
    path: typeof path === 'string' ? withoutSlashes(path) : DEFAULT_PATH,
    guards: areGuards(guarded) ? guarded : [],
    dashboard: dashboard !== false,
    imports: Array.isArray(imports) ? imports : [],
  };
}

function withoutSlashes(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}

function areGuards(given: unknown): given is Guards {
  return Array.isArray(given) && given.every(isGuard);
}

function isGuard(guard: unknown): boolean {
  return (
    typeof guard === 'function' || typeof (guard as Partial<CanActivate> | null)?.canActivate === 'function'
  );
}

/** What may come from a factory. */
export const ADMIN_OPTIONS = Symbol('nestjs-durable-saga:admin-options');
/** The object that has the options of the routes. */
export const ADMIN_ROUTES = Symbol('nestjs-durable-saga:admin-routes');
