const STEPS = ['reserve', 'charge', 'ship', 'confirm'];

/** Four HTTP steps, one after the other, each with a compensation. */
export const RIG_DECLARED = `
saga: rig-declared
retry: { attempts: 50, delay: 30ms, maxDelay: 1s }
compensationRetry: { attempts: 50, delay: 30ms, maxDelay: 1s }
input:
  type: object
  required: [n, refused, shaky]
steps:
${STEPS.map(
  (step) => `  ${step}:
    http: { url: '{{ env.PARTICIPANT }}/${step}', body: '{{ input }}' }
    compensate: { http: { method: POST, url: '{{ env.PARTICIPANT }}/${step}/compensate' } }
`,
).join('')}`;
