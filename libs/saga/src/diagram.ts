/** A saga class as data, as a diagram and with its findings: `nestjs-durable-saga/diagram`. Nothing of NestJS is loaded. */
export { analyzeSaga } from './definition/build/build-saga-graph.js';
export type { SagaFinding } from './shared/diagnostic.js';
export { describeSaga } from './definition/describe/saga-description.js';
export type {
  EdgeDescription,
  LimitDescription,
  RateLimitDescription,
  RetryDescription,
  SagaDescription,
  StepDescription,
} from './definition/describe/saga-description.js';
export { mermaidOf, type MermaidOptions } from './definition/describe/mermaid-of-graph.js';
export {
  layoutOf,
  type DrawableGraph,
  type EdgeLine,
  type GraphLayout,
  type LayoutOptions,
  type NodeBox,
} from './definition/describe/layout-graph.js';
export type { DefaultPolicies } from './definition/build/build-saga-graph.js';
