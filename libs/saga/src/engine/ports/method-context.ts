/**
 * Calls a method of a saga in the asynchronous context that the application has for the tags of the saga, and returns
 * what the method returns.
 */
export type MethodContext = <T>(tags: Readonly<Record<string, string>>, method: () => T) => T;
