/**
 * For the `catch` of an import of an optional package: undefined if it is not installed. A package that is installed and
 * cannot be loaded reports the reason itself.
 */
export function ifInstalled(error: Error & { readonly code?: unknown }): undefined {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' && error.code !== 'MODULE_NOT_FOUND') throw error;
}
