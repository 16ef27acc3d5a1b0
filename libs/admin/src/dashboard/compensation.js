/**
 * `releaseStock (of reserveStock)`: a compensation by its method, if that is known, and by the step that it compensates.
 * @param {Pick<import('../dashboard-data.js').ShownSummary, 'failedCompensations'>} saga
 * @param {string} step
 */
export function compensationName({ failedCompensations = [] }, step) {
  const [own] = step.split('[', 1);
  const method = failedCompensations.find((failed) => failed.step === own)?.method;
  return method ? `${method} (of ${step})` : `of ${step}`;
}
