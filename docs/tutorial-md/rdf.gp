# gnuplot -c rdf.gp rdf.txt > SVG: radial distribution functions, averaged over the second half of the run.
set terminal svg size 560,360 font "sans-serif,13" background "white"
set xlabel "distance (Å)"
set ylabel "g(r)"
set xrange [1:6]
set grid lc rgb "#dddddd"
# Rows are: number, distance, then g and the coordination of Ti-Ti, Ti-O and O-O.
rows = sprintf("< awk '!/^#/ && NF == 8' '%s'", ARG1)
plot rows using 2:5 with lines lw 2 lc rgb "#0072B2" title "Ti-O", \
  rows using 2:7 with lines lw 2 lc rgb "#E69F00" title "O-O", \
  rows using 2:3 with lines lw 2 lc rgb "#009E73" title "Ti-Ti"
