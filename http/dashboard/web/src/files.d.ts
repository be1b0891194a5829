// What the build puts beside the scripts: importing it gives its address, relative to theirs.
declare module "*.txt" {
  const address: string;
  export default address;
}
