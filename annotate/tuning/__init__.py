"""What `tb-dataplugin tune` runs beside the user's code: a loader with other settings, timed in short windows."""
