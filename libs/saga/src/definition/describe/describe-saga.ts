import type { Type } from '@nestjs/common';
import { buildSagaGraph, DEFAULT_POLICIES, type DefaultPolicies } from '../build/build-saga-graph.js';
import { drawingOptions } from '../options/drawing-options.js';
import { descriptionOf, type SagaDescription } from './saga-description.js';

/**
 * The definition of a class decorated with `@Saga`, as data for dashboards, tests and documents. `mermaidOf` and
 * `layoutOf` make pictures of it. Needs no application and no database.
 * @param defaults the module's retry policies, for steps that have none of their own
 * @throws SagaValidationError for an unknown key of `defaults`
 * @throws SagaDefinitionError when the definition is wrong, as the application would at start-up
 */
export function describeSaga(saga: Type, defaults: DefaultPolicies = {}): SagaDescription {
  const given = drawingOptions<DefaultPolicies>('describeSaga', defaults, DEFAULT_POLICIES);
  return descriptionOf(buildSagaGraph(saga, given));
}
