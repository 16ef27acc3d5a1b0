import type { ExternalEngine, OwnEngine, SagaGraph } from 'nestjs-durable-saga/internal/backend';
import { openRestate } from './restate-backend.js';

/** Where Restate is, and where it reaches this process. */
export interface RestateEngineOptions {
  /** The address of the ingress, such as `http://localhost:8080`. */
  readonly ingress: string;
  /** The address of the admin API, such as `http://localhost:9070`. */
  readonly admin: string;
  /** The port at which this process serves Restate. 0: any that is free. Default: 9080. */
  readonly port?: number;
  /**
   * The address at which Restate reaches the processes of the application: that of a load balancer, if there are several.
   * Default: `http://localhost` with `port`.
   */
  readonly address?: string;
}

/**
 * Keeps sagas in Restate instead of PostgreSQL: `SagaModule.forRoot({ engine: restateEngine({ … }) })`.
 * @throws SagaConfigurationError at start-up if a saga has what Restate cannot keep, or on Node 20
 * @throws SagaUnavailableError at start-up if Restate cannot be reached within 30 s
 */
export function restateEngine({
  ingress,
  admin,
  port = 9080,
  address,
}: RestateEngineOptions): ExternalEngine {
  const engine: OwnEngine = {
    name: 'Restate',
    refuses,
    open: (process) => openRestate({ ingress, admin, port, address }, process),
  };
  return engine;
}

function refuses(graph: SagaGraph): string[] {
  const ofSteps = [...graph.steps.values()].flatMap((step) =>
    step.transactional ? `transactional in step '${step.name}'` : [],
  );
  return [...(graph.durability === 'relaxed' ? ["durability: 'relaxed'"] : []), ...ofSteps];
}
