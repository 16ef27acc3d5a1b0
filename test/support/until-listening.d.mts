/** Nest says that an application has started before its port listens. */
export function untilListening(port: number): Promise<void>;
