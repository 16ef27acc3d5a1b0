/** What the engine has to say to operators; Nest's Logger fits. */
export interface EngineLog {
  debug(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string, stack?: string): void;
}
