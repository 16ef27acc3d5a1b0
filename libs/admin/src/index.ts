export { SagaAdminModule } from './admin.module.js';
export type { SagaAdminModuleAsyncOptions } from './admin.module-definition.js';
export type {
  AdminAction,
  AdminActionKind,
  OperatorAction,
  SagaAdminModuleOptions,
  SagaAdminRoutes,
} from './admin.options.js';
