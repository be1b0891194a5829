// The conformance suite asks for fs.globSync, which Node 20 lacks, although checking a server never calls it.
import * as fs from 'node:fs';
import { register } from 'node:module';

if (!fs.globSync) {
  const names = Object.keys(fs).filter((name) => name !== 'default');
  const source = `import fs from 'node:fs';
export default fs;
${names.map((name) => `export const ${name} = fs.${name};`).join('\n')}
export const globSync = () => { throw new Error('this Node has no fs.globSync'); };`;
  const stub = 'data:text/javascript,' + encodeURIComponent(source);
  register('data:text/javascript,' + encodeURIComponent(`
export function resolve(name, context, next) {
  return name === 'fs' && context.parentURL.includes('/conformance/')
    ? { url: ${JSON.stringify(stub)}, shortCircuit: true }
    : next(name, context);
}`));
}
