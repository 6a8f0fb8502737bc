# gnuplot -c removed.gp removed.tsv > SVG
set terminal svg size 560,360 font "sans-serif,13" background "white"
set datafile separator tab
set xlabel "training triples removed for each target"
set ylabel "mean of 1/rank of the targets' tails"
set offsets 0, 0.5, 0, 0
set yrange [0:1.02]
set key bottom left
set grid lc rgb "#dddddd"
pick(how) = sprintf("< awk -F'\t' 'NR > 1 && ($1 == \"%s\" || $1 == \"nothing\")' '%s'", how, ARG1)
plot pick("random") using 2:5:6 with yerrorlines lw 2 pt 7 ps 0.5 lc rgb "#009E73" title "random", \
  pick("neighbors") using 2:5:6 with yerrorlines lw 2 pt 7 ps 0.5 lc rgb "#E69F00" title "with an entity of the target", \
  pick("proponents") using 2:5:6 with yerrorlines lw 2 pt 7 ps 0.5 lc rgb "#0072B2" title "highest by tracin"
